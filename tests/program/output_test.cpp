// Output of the program: lines on stdout, the run directory, model files, the examples.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "cli/commands.h"
#include "run/run_folder.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

TEST(Output, RunDirectoryHoldsTheRunAndItsOptionsRepeatIt) {
  const TemporaryFolder folder, data;
  write_small_fashion_mnist(data, 600, 100);
  const std::string run = (folder / "run").string();
  const Outcome outcome =
      lockstep(2, words("train --data-dir {} --lr 0.2 --epochs 2 --momentum 0.9 --run-dir {}", data, run));
  const std::string digest = digest_of(outcome.out);
  for (const char* file :
       {"options.cfg", "environment.json", "metrics.jsonl", "report.html", "checkpoints"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / ("run/" + std::string(file)))) << file;
  }
  for (const auto& file : std::filesystem::recursive_directory_iterator(run)) {
    EXPECT_TRUE(RunFolder(run).knows(file.path())) << file.path() << " is missing in src/run/run_folder.h";
  }

  const Words events = record_of(run);
  ASSERT_EQ(events.size(), 2 * 3 + 2 + 1U);  // three steps per epoch
  expect_holds(events[7], digest);
  expect_holds(events[8], digest);
  const Outcome again = lockstep(1, words("train --config {}/options.cfg --run-dir {}-again", run, run));
  EXPECT_EQ(digest_of(again.out), digest) << again.err;
}

TEST(Output, HelpOfEveryCommandFitsATerminalAndNamesOptionsThatExist) {
  std::set<std::string> named, listed;
  const std::regex flag("--[a-z0-9-]+"), list("^  (--[a-z0-9-]+)");
  for (const Command& command : commands()) {
    const std::string name = command.name;
    const Outcome outcome = lockstep(0, words(name) + Words{"--help"});
    for (const std::string& line : lines_of(outcome.out)) {
      EXPECT_LE(line.size(), 100U) << line;
      std::smatch match;
      if (std::regex_search(line, match, list)) listed.insert(match[1].str());
      for (std::sregex_iterator it(line.begin(), line.end(), flag), end; it != end; ++it)
        named.insert(it->str());
    }
    EXPECT_EQ(outcome.status, 0) << name;
    EXPECT_TRUE(outcome.out.starts_with("Usage: lockstep " + name)) << outcome.out;
  }
  EXPECT_EQ(named, listed);
  expect_holds(lockstep(0, {"train", "--help"}).out, "timm");  // explains options that differ
}

/// The second example reads the record that the first one writes.
TEST(LongHelp, ExamplesWorkAsShown) {
  const TemporaryFolder folder;
  std::filesystem::copy(LOCKSTEP_RUN, folder.string());
  std::filesystem::create_symlink(LOCKSTEP_PROGRAM, folder / "lockstep");
  Words digests;
  for (const std::string& line : lines_of(lockstep(0, {"train", "--help"}).out)) {
    if (!line.starts_with("    lockstep")) continue;
    const Outcome outcome =
        run({"sh", "-c", "cd '" + folder.string() + "'; PATH='" + folder.string() + "':$PATH " + line});
    EXPECT_EQ(outcome.status, 0) << line << outcome.err;
    digests.push_back(digest_of(outcome.out));
  }
  ASSERT_EQ(digests.size(), 3U);
  EXPECT_EQ(digests[0], digests[1]);
}

/// Compares the examples with the program on the whole Fashion-MNIST data set.
TEST(Examples, EndWithTheDigestOfTheTrainer) {
  const Outcome program = lockstep(2, words("train --epochs 1 --lr 0.2"));
  const std::string expected = digest_of(program.out);
  for (const char* example : {"/train_lenet", "/from_scratch"}) {
    const Outcome outcome = mpirun(std::string(LOCKSTEP_EXAMPLES) + example, 2, {"1"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(digest_of(outcome.out), expected) << example;
  }
}

/// Fashion-MNIST is in memory once per host.
TEST(Memory, OfARankStaysBelow150Megabytes) {
  const Outcome outcome = lockstep(2, words("train --max-steps 5"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(outcome.resident_kilobytes, 150 * 1024);
}

long kilobytes_to_show(const std::filesystem::path& csv) {
  const Outcome outcome =
      lockstep(0, words("data show --dataset csv --data-dir {} --test-fraction 0.2", csv));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.resident_kilobytes;
}

/// The table takes 40 MB as text, 16 MB as doubles and 8 MB as floats, which are never in memory together.
TEST(Memory, OfATableIsNotItsText) {
  const TemporaryFolder folder;
  const auto write_rows = [&](const std::string& name, int rows) {
    std::ofstream file(folder / name);
    for (int column = 0; column < 20; ++column) file << "x" << column << ",";
    file << "label\n";
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < 20; ++column) file << "0.12345678901234" << 1000 + row % 9000 << ",";
      file << (row % 2 == 0 ? "a\n" : "b\n");
    }
    return folder / name;
  };
  const long small = kilobytes_to_show(write_rows("small.csv", 100));
  EXPECT_LT(kilobytes_to_show(write_rows("large.csv", 100000)) - small, 32 * 1024);
}

}  // namespace
}  // namespace lockstep::test
