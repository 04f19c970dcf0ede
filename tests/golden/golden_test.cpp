// Compares digests of runs of the program with those in golden.txt, which explains how to read and change it.
//   golden_test [--record] [--runs NAME,NAME...] [FILE]    --runs: only these
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <thread>

#include "core/text/split.h"
#include "support/image_files.h"
#include "support/run.h"
#include "support/tar_files.h"

namespace lockstep::test {
namespace {

constexpr const char* saved_model = "model.safetensors";

bool record = false;
std::string chosen;  ///< names of runs, separated by commas; empty: all
std::string file = LOCKSTEP_SOURCE "/tests/golden/golden.txt";

/// A run described in the file.
struct Case {
  std::string name{};
  Words words{};           ///< device, number of ranks, options
  std::string expected{};  ///< "DIGEST METRICS", or the name of another run
  std::size_t line = 0;    ///< last line of the run's options
  std::size_t lines_of_result = 0;
};

/// Result of a run in the file's format; empty if this machine cannot run it.
struct Result {
  std::string text{};
  std::string error{};
};

/// One run for each placement of `run`: "1,2x3" means one rank, and two ranks with three threads each.
std::vector<Case> runs_of(const Case& run) {
  std::vector<Case> runs;
  for (const std::string& placement : split(run.words[1], ',')) {
    const Words numbers = split(placement, 'x');
    runs.push_back(run);
    runs.back().words[1] = numbers[0];
    if (numbers.size() > 1) runs.back().words.insert(runs.back().words.end(), {"--threads", numbers[1]});
  }
  return runs;
}

/// The cases that --runs names.
std::vector<Case> choose(std::vector<Case> cases) {
  if (chosen.empty()) return cases;
  const Words names = split(chosen, ',');
  std::erase_if(cases, [&](const Case& one) { return std::ranges::count(names, one.name) == 0; });
  EXPECT_EQ(cases.size(), names.size()) << file << " lacks some of the runs " << chosen;
  return cases;
}

std::vector<Case> parse(const Words& lines) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      const std::size_t colon = line.find(": ");
      cases.push_back({.name = line.substr(0, colon), .words = words(line.substr(colon + 1)), .line = i});
    } else if (line.starts_with("  = ")) {
      cases.back().expected = line.substr(4);
      cases.back().lines_of_result = 1;
    } else {
      cases.back().words = cases.back().words + words(line);
      cases.back().line = i;
    }
  }
  std::vector<Case> runs;
  for (const Case& one : choose(std::move(cases))) std::ranges::move(runs_of(one), std::back_inserter(runs));
  return runs;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Fashion-MNIST and photographs for the runs.
class Samples {
 public:
  Samples() {
    write_small_fashion_mnist(fashion_, 1000, 333);
    write_even_odd_folders(images_);
    write_archives();
    write_labels();
  }

  /// Options of a run, completed with the file's defaults.
  Words options(const Case& run, const TemporaryFolder& folder) const {
    const std::map<std::string, Words> sets{
        {"{fashion}", words("--dataset fashion-mnist --model lenet --epochs 2 --batch-size 256 "
                            "--micro-batches 8 --data-dir {}",
                            fashion_)},
        {"{small}", words("--dataset synthetic --synthetic-shape 1x12x12 --samples 150 --model mlp:12 "
                          "--epochs 2 --batch-size 64 --micro-batches 4 --lr 0.2")},
        {"{labelled}",
         words("--dataset images --recipe none --task multilabel --data-dir {} --labels {}/labels.csv",
               images_, images_)}};
    const std::pair<std::string, std::string> places[]{{"{images}", images_.string()},
                                                       {"{tars}", tars_.string()},
                                                       {"{source}", LOCKSTEP_SOURCE},
                                                       {"{run}", (folder / "run").string()},
                                                       {"{saved}", (folder / saved_model).string()}};
    Words rest = words("--device {} --seed 0 --reduce canonical --threads 1", run.words[0]);
    Words given;
    for (const std::string& written : std::span(run.words).subspan(2)) {
      const auto set = sets.find(written);
      std::string word = written;
      for (const auto& [mark, place] : places) word = replaced(word, mark, place);
      if (set != sets.end()) {
        rest = rest + set->second;
      } else if (written.starts_with("{images}") || written.starts_with("{tars}")) {
        rest = rest + words("--dataset images --recipe none --data-dir {}", word);
      } else {
        given.push_back(word);
      }
    }
    for (std::size_t i = 0; i < rest.size(); i += 2) {
      if (std::ranges::find(given, rest[i]) == given.end()) given.insert(given.end(), {rest[i], rest[i + 1]});
    }
    return given;
  }

 private:
  /// Writes archives: numbered training images, each with a file of its class name, and test images in class
  /// folders.
  void write_archives() const {
    TarFiles train, val;
    for (const char* part : {"train", "val"}) {
      for (const char* name : {"even", "odd"}) {
        std::set<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(images_.path() / part / name))
          files.insert(entry.path());
        for (const std::filesystem::path& image : files) {
          if (part == std::string("val")) {
            val.emplace_back("./" + std::string(name) + "/" + image.filename().string(), contents(image));
            continue;
          }
          const std::string key = std::to_string(100000 + train.size());
          train.emplace_back(key + ".cls", name);
          train.emplace_back(key + ".jpg", contents(image));
        }
      }
    }
    tars_.write("train-0.tar", tar_archive({train.begin(), train.begin() + 60}));
    tars_.write("train-1.tar", tar_archive({train.begin() + 60, train.end()}));
    tars_.write("val.tar", tar_archive(val));
  }

  /// Writes labels that are computed from the images' numbers.
  void write_labels() const {
    std::string table = "image,labels\n";
    for (const char* part : {"train", "val"}) {
      for (int i = 0; i < (part == std::string("train") ? 90 : 20); ++i) {
        table += std::string(part) + (i % 2 == 0 ? "/even/" : "/odd/") + std::to_string(i) + ",";
        table += std::string(i % 2 == 0 ? "two " : "") + (i % 3 == 0 ? "three " : "") +
                 (i % 7 == 0 ? "seven" : "") + "\n";
      }
    }
    images_.write("labels.csv", table);
  }

  TemporaryFolder fashion_, images_, tars_;
};

/// "DIGEST METRICS" of a finished run.
std::string result_of(const Outcome& outcome, const std::filesystem::path& saved) {
  const std::string digest = std::filesystem::exists(saved)
                                 ? digest_of(lockstep(0, {"inspect", saved.string()}).out)
                                 : digest_of(outcome.out);
  static const std::regex metric(R"((?:train|test) \S+ (\S+))");
  std::string last;
  for (const std::string& line : lines_of(outcome.out)) {
    if (line.starts_with("epoch ")) last = line;
  }
  std::string metrics;
  for (std::sregex_iterator match(last.begin(), last.end(), metric), end; match != end; ++match) {
    metrics += " " + (*match)[1].str();
  }
  return digest + metrics;
}

Result execute(const Case& run, const Samples& samples) {
  const TemporaryFolder folder;
  Words arguments = samples.options(run, folder);
  arguments.insert(arguments.begin(), "train");
  const int ranks = std::stoi(run.words[1]);
  const Outcome outcome = mpirun(run.words[0] == "cuda" ? LOCKSTEP_EMULATED : LOCKSTEP_PROGRAM,
                                 ranks == 1 ? 0 : ranks, arguments);
  if (outcome.status == 0) return {.text = result_of(outcome, folder / saved_model)};
  const auto level = std::ranges::find(arguments, "--simd");
  const bool missing =
      outcome.status == 2 && level != arguments.end() && holds(outcome.err, "'" + *(level + 1) + "'");
  return {.error = missing ? "" : "status " + std::to_string(outcome.status) + ": " + outcome.err};
}

/// Executes all runs, as many concurrently as there are processors.
std::vector<Result> execute_all(const std::vector<Case>& runs) {
  const Samples samples;
  std::vector<Result> results(runs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < runs.size(); i = next++) results[i] = execute(runs[i], samples);
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return results;
}

/// Writes each result after the options of its run, unless the expected result is the name of another run.
void write_results(Words lines, const std::vector<Case>& runs, const std::vector<Result>& results) {
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (!runs[i].expected.empty() && !runs[i].expected.starts_with("xxh3:")) continue;
    if (i > 0 && runs[i - 1].line == runs[i].line) continue;  // another placement of the same run
    const auto place = lines.begin() + static_cast<std::ptrdiff_t>(runs[i].line) + 1;
    if (runs[i].lines_of_result == 1) {
      *place = "  = " + results[i].text;
    } else {
      lines.insert(place, "  = " + results[i].text);
    }
  }
  std::ofstream stream(file);
  for (const std::string& line : lines) stream << line << '\n';
}

TEST(Golden, RunsEndWithTheRecordedDigests) {
  const Words lines = lines_of(contents(file));
  const std::vector<Case> runs = parse(lines);
  ASSERT_FALSE(runs.empty()) << file;
  const std::vector<Result> results = execute_all(runs);
  if (record) write_results(lines, runs, results);
  std::map<std::string, std::string> known;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(runs[i].name + " on " + runs[i].words[1] + ", " + file + ":" +
                 std::to_string(runs[i].line + 1));
    EXPECT_EQ(results[i].error, "");
    if (i > 0 && runs[i - 1].line == runs[i].line) {
      EXPECT_TRUE(results[i].text.empty() || results[i].text == known.at(runs[i].name)) << results[i].text;
      continue;
    }
    EXPECT_TRUE(known.emplace(runs[i].name, results[i].text).second) << "a name given twice";
    const bool other = !runs[i].expected.starts_with("xxh3:");
    if (results[i].text.empty() || (record && (runs[i].expected.empty() || !other))) continue;
    if (other) {
      ASSERT_TRUE(known.contains(runs[i].expected))
          << "no run before it is called '" << runs[i].expected << "'";
    }
    EXPECT_EQ(results[i].text, other ? known.at(runs[i].expected) : runs[i].expected);
  }
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string("--record")) {
      lockstep::test::record = true;
    } else if (argv[i] == std::string("--runs") && i + 1 < argc) {
      lockstep::test::chosen = argv[++i];
    } else if (argv[i][0] != '-') {
      lockstep::test::file = argv[i];
    } else {
      std::cerr << "usage: golden_test [--record] [--runs NAME,NAME...] [FILE]\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
