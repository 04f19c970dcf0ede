// Output for users: lines on stdout, the run directory, model files, the examples.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "support/run.h"

namespace lockstep::test {
namespace {

class Output : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    write_small_fashion_mnist(*data_, 600, 100);
  }
  static void TearDownTestSuite() { data_.reset(); }

  static Outcome train(int ranks, std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "--data-dir", data_->string(), "--lr", "0.2"});
    const Outcome outcome = lockstep(ranks, more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> result;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      result.push_back(line);
    }
    return result;
  }

  static std::unique_ptr<TemporaryFolder> data_;
};
std::unique_ptr<TemporaryFolder> Output::data_;

TEST_F(Output, OneLineAnEpochAndTheDigestFromRankZeroOnly) {
  const std::vector<std::string> out = lines(train(3, {"--epochs", "2"}).out);
  ASSERT_EQ(out.size(), 3U);
  const std::regex epoch(
      R"(epoch [12]/2  train loss \d\.\d{4}  train acc \d\.\d{4}  test loss \d\.\d{4}  test acc \d\.\d{4}  \d+\.\d\d s  \d+ img/s)");
  EXPECT_TRUE(std::regex_match(out[0], epoch)) << out[0];
  EXPECT_TRUE(std::regex_match(out[1], epoch)) << out[1];
  EXPECT_TRUE(
      std::regex_match(out[2], std::regex(R"(digest xxh3:[0-9a-f]{32} \(CPU, 8 micro-batches, canonical\))")))
      << out[2];
}

TEST_F(Output, NoProgressLineInAPipe) {
  const Outcome outcome = train(1, {"--epochs", "1"});
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos);
  EXPECT_EQ(outcome.err.find('\033'), std::string::npos);
}

/// The runs take a tenth of a second, long enough for the line to be shown once.
TEST_F(Output, ProgressLineWhereAskedFor) {
  const std::string progress = "\r\033[Kepoch ";
  EXPECT_NE(train(1, {"--epochs", "20", "--progress", "on"}).err.find(progress), std::string::npos);
  EXPECT_EQ(train(1, {"--epochs", "20", "--progress", "on", "--quiet"}).err.find(progress),
            std::string::npos);
}

TEST_F(Output, LogLinesWhereAskedForFromAllRanks) {
  const std::regex line(
      R"((\[rank [01]/2 host \S+\] )?epoch 1/1  step 2/3  loss \d\.\d{4}  lr 0\.2  \d+ img/s  \d+:\d\d left)");
  const auto log_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--epochs", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<std::string> log = lines(train(2, arguments).err);
    std::erase_if(log, [&](const std::string& text) { return !std::regex_match(text, line); });
    return log;
  };
  EXPECT_EQ(log_of({}).size(), 0U);  // a short run
  EXPECT_EQ(log_of({"--log-every", "2"}).size(), 1U);
  const std::vector<std::string> both = log_of({"--log-every", "2", "--log-ranks", "all"});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0].substr(0, 8), both[1].substr(0, 8));  // [rank 0, [rank 1
  EXPECT_EQ(log_of({"--log-every", "2", "--log-ranks", "all", "--quiet"}).size(), 0U);
}

TEST_F(Output, QuietPrintsTheDigestOnly) {
  const Outcome outcome = train(2, {"--epochs", "1", "--quiet"});
  EXPECT_EQ(lines(outcome.out).size(), 1U) << outcome.out;
}

TEST_F(Output, RunDirectoryHoldsTheRunAndItsOptionsRepeatIt) {
  const TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  const Outcome outcome = train(2, {"--epochs", "2", "--momentum", "0.9", "--run-dir", run});
  const std::string digest = digest_of(outcome.out);
  for (const char* file :
       {"options.cfg", "environment.json", "metrics.jsonl", "report.html", "checkpoints"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / ("run/" + std::string(file)))) << file;
  }

  std::ifstream metrics(folder / "run/metrics.jsonl");
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(metrics, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event["event"] != "checkpoint") events.push_back(event);
  }
  ASSERT_EQ(events.size(), 2 * 3 + 2 + 1U);  // three steps an epoch
  EXPECT_EQ(events[2]["event"], "step");
  EXPECT_EQ(events[2]["step"], 3);
  EXPECT_EQ(events[2]["samples"], 600 - 512);
  EXPECT_EQ(events[3]["event"], "epoch");
  EXPECT_EQ(events[7]["digest"], digest);
  EXPECT_EQ(events[8]["digest"], digest);

  const std::string html = contents(run + "/report.html");
  EXPECT_NE(html.find("<th>momentum</th><td>0.9</td>"), std::string::npos);
  for (const char* idle : {"image-size", "crop-pct", "beta1", "cuda-graph"}) {
    EXPECT_EQ(html.find(std::string("<th>") + idle + "</th>"), std::string::npos) << idle;
  }

  const Outcome again = lockstep(1, {"train", "--config", run + "/options.cfg", "--run-dir", run + "-again"});
  EXPECT_EQ(digest_of(again.out), digest) << again.err;
  const Outcome same = lockstep(0, {"diff", run, run + "-again"});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_NE(same.out.find("\nthe results are the same\n"), std::string::npos) << same.out;
  std::ofstream(run + "-again/metrics.jsonl")
      << std::regex_replace(contents(run + "/metrics.jsonl"), std::regex("\"loss\":"), "\"loss\":1");
  const Outcome different = lockstep(0, {"diff", run, run + "-again"});
  EXPECT_EQ(different.status, 1) << different.err;
  EXPECT_NE(different.out.find("\nfirst difference in loss: step 1: "), std::string::npos) << different.out;
  const Outcome refused = lockstep(1, {"train", "--config", run + "/options.cfg", "--run-dir", run});
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_NE(refused.err.find("already holds a run"), std::string::npos) << refused.err;
}

TEST_F(Output, SmallBatchesStartOnSeveralRanksAndEmptyLanesAreTold) {
  const auto run = [](int ranks, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train",    "--data-dir", data_->string(), "--max-steps", "1",
                                          "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lockstep(ranks, arguments);
  };
  const std::string lanes = "micro-batches of 8 samples leave 50 % of the vector lanes without work";
  const Outcome three = run(3, {"--batch-size", "48"});
  EXPECT_EQ(three.status, 0) << three.err;
  EXPECT_NE(three.err.find("batch 48 = 3 micro-batches of 16"), std::string::npos) << three.err;
  EXPECT_EQ(three.err.find("vector lanes"), std::string::npos) << three.err;
  const Outcome four = run(4, {"--batch-size", "48"});
  EXPECT_EQ(four.status, 2) << four.err;
  EXPECT_NE(four.err.find("start at most 3 ranks, or use 4, 6, 8, 12 micro-batches"), std::string::npos)
      << four.err;
  const Outcome narrow = run(1, {"--batch-size", "32", "--micro-batches", "4"});
  EXPECT_NE(narrow.err.find(lanes + ": --micro-batches 2 fills them"), std::string::npos) << narrow.err;
}

TEST_F(Output, BestModelIsKeptAndEarlyStoppingSaysSo) {
  const TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  const Outcome outcome = lockstep(2, {"train", "--data-dir", data_->string(), "--epochs", "9", "--lr", "0",
                                       "--early-stopping", "2", "--run-dir", run});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines(outcome.out).size(), 3 + 1U) << outcome.out;  // nothing gets better than the first epoch
  EXPECT_NE(outcome.err.find("no better test accuracy for 2 epochs: stopped early"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("best epoch 1: test accuracy "), std::string::npos) << outcome.err;
  const Outcome best = lockstep(0, {"inspect", run + "/checkpoints/best.safetensors", "--model", "lenet"});
  EXPECT_EQ(digest_of(best.out), digest_of(outcome.out));
  EXPECT_EQ(line_after(best.out, "epoch = "), "1");
  std::smatch accuracy;
  ASSERT_TRUE(std::regex_search(outcome.out, accuracy, std::regex("test acc (\\S+)")));
  EXPECT_NEAR(std::stod(line_after(best.out, "test_accuracy = ")), std::stod(accuracy[1].str()), 5e-5);
}

TEST_F(Output, ValidationPartChoosesTheBestModelOnAnyNumberOfRanks) {
  const TemporaryFolder folder;
  std::vector<std::string> texts;
  for (const int ranks : {1, 3}) {
    const std::string run = (folder / ("run" + std::to_string(ranks))).string();
    const Outcome outcome =
        train(ranks, {"--epochs", "2", "--validation-fraction", "0.25", "--run-dir", run});
    std::smatch accuracy;
    EXPECT_TRUE(std::regex_search(outcome.out, accuracy, std::regex("val loss \\S+  val acc (\\S+)")));
    EXPECT_NE(outcome.err.find(": validation accuracy "), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("select on the test set"), std::string::npos) << outcome.err;
    const Outcome best = lockstep(0, {"inspect", run + "/checkpoints/best.safetensors"});
    EXPECT_GT(std::stod(line_after(best.out, "validation_accuracy = ")), 0.0);
    texts.push_back(std::regex_replace(outcome.out, std::regex("  \\S+ s  \\d+ img/s"), ""));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0],
            std::regex_replace(train(1, {"--epochs", "2"}).out, std::regex("  \\S+ s  \\d+ img/s"), ""));
}

TEST_F(Output, SelectionOnTheTestSetIsToldOnce) {
  const TemporaryFolder folder;
  const std::string told = "select on the test set; --validation-fraction";
  const std::string text = train(2, {"--epochs", "2", "--run-dir", (folder / "run").string()}).err;
  EXPECT_EQ(count(text, told), 1) << text;
  EXPECT_EQ(train(1, {"--epochs", "1"}).err.find(told), std::string::npos);
}

TEST_F(Output, SavedModelIsInspectedEvaluatedAndTrainedOn) {
  const TemporaryFolder folder;
  const std::string file = (folder / "lenet.safetensors").string();
  const Outcome trained = train(2, {"--epochs", "1", "--save-model", file});
  const std::string digest = digest_of(trained.out);

  const Outcome inspected = lockstep(0, {"inspect", file});
  EXPECT_EQ(line_after(inspected.out, "digest in the file's order "), digest);  // it is the network's
  EXPECT_EQ(digest_of(lockstep(0, {"inspect", file, "--model", "lenet"}).out), digest);
  const Outcome other = lockstep(0, {"inspect", file, "--model", "mlp"});
  EXPECT_EQ(other.status, 3);
  EXPECT_NE(other.err.find("unknown parameter"), std::string::npos) << other.err;
  const Outcome colour = lockstep(0, {"inspect", file, "--model", "lenet", "--input", "3x28x28"});
  EXPECT_NE(colour.err.find("[20, 3, 3, 3] is needed; the network is for --input 3x28x28 --classes 10"),
            std::string::npos)
      << colour.err;
  EXPECT_NE(inspected.out.find("conv1.weight  F32          180  [20, 1, 3, 3]"), std::string::npos)
      << inspected.out;
  const Outcome evaluated = lockstep(11, {"eval", "--data-dir", data_->string(), file});
  std::smatch test_loss;
  ASSERT_TRUE(std::regex_search(trained.out, test_loss, std::regex("test loss (\\S+)  test acc (\\S+)")));
  const std::string line = line_after(evaluated.out, "test loss ");
  EXPECT_EQ(line.substr(0, line.find("  top-5 acc 0.")),
            test_loss[1].str() + "  test acc " + test_loss[2].str() + "  samples 100")
      << evaluated.err;

  const Outcome start = train(1, {"--epochs", "0", "--init-from", file});
  EXPECT_EQ(digest_of(start.out), digest);
}

TEST_F(Output, NetworkFileGivesTheDigestOfTheSameBuiltInModel) {
  const std::string file = LOCKSTEP_SOURCE "/examples/networks/lenet.json";
  EXPECT_EQ(train(1, {"--epochs", "1", "--quiet"}).out,
            train(2, {"--epochs", "1", "--quiet", "--model", file}).out);
}

TEST_F(Output, HeadIsReinitialisedForOtherClasses) {
  const TemporaryFolder folder;
  const std::string file = (folder / "ten.safetensors").string();
  const std::vector<std::string> ten = {"train",     "--dataset", "synthetic", "--samples", "64",
                                        "--classes", "10",        "--epochs",  "0"};
  const auto run = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lockstep(2, arguments);
  };
  std::vector<std::string> seven = ten;
  seven[6] = "7";
  EXPECT_EQ(run(ten, {"--save-model", file}).status, 0);
  const Outcome refused = run(seven, {"--init-from", file});
  EXPECT_EQ(refused.status, 3);
  EXPECT_NE(refused.err.find("tensor 'fc2.weight'"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("reset-head reinitialises its layer"), std::string::npos) << refused.err;
  const Outcome reset = run(seven, {"--init-from", file, "--reset-head"});
  EXPECT_EQ(reset.status, 0) << reset.err;
}

TEST_F(Output, InspectShowsANetwork) {
  const Outcome shown = lockstep(0, {"inspect", "--model", "resnet20", "--input", "3x32x32"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find(" 272474 parameters,"), std::string::npos) << shown.out;
  EXPECT_EQ(lockstep(0, {"inspect"}).status, 2);
}

TEST_F(Output, OptionsOfARunServeTheOtherCommands) {
  const TemporaryFolder folder;
  const std::string run = (folder / "run").string();
  const std::string options = run + "/options.cfg";
  const Outcome trained =
      train(1, {"--epochs", "1", "--batch-size", "240", "--micro-batches", "6", "--run-dir", run});
  const Outcome evaluated =
      lockstep(2, {"eval", "--config", options, run + "/checkpoints/final.safetensors"});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(digest_of(evaluated.out), digest_of(trained.out));
  const Outcome measured = lockstep(0, {"bench", "step", "--config", options, "--steps", "1"});
  EXPECT_NE(measured.out.find("batch 240 = 6 micro-batches of 40"), std::string::npos) << measured.err;
  EXPECT_EQ(lockstep(0, {"data", "show", "--config", options}).status, 0);
  EXPECT_EQ(lockstep(0, {"doctor", "--config", options}).status, 0);
  const Outcome inspected =
      lockstep(0, {"inspect", "--config", options, run + "/checkpoints/final.safetensors"});
  EXPECT_EQ(digest_of(inspected.out), digest_of(trained.out)) << inspected.err;
}

/// Some commands notice it only at the last flush.
TEST_F(Output, FullDiskBehindStdoutIsAnError) {
  const TemporaryFolder folder;
  const std::string run_directory = (folder / "run").string();
  const std::string file = (folder / "lenet.safetensors").string();
  train(1, {"--epochs", "1", "--run-dir", run_directory, "--save-model", file});
  const std::string data = " --data-dir '" + data_->string() + "'";
  for (const std::string& command :
       {"train --epochs 1" + data, "eval" + data + " '" + file + "'", "data order" + data, "data show" + data,
        "doctor" + data, "inspect '" + file + "'", "report '" + run_directory + "'", std::string("--help"),
        std::string("train --help"), std::string("--version")}) {
    const Outcome outcome = run({"sh", "-c", "exec '" LOCKSTEP_PROGRAM "' " + command + " > /dev/full"});
    EXPECT_EQ(outcome.status, 4) << command << ": " << outcome.err;
    const std::regex line("lockstep: error: (rank 0 on [^:]*: )?stdout: No space left on device");
    const std::vector<std::string> errors = lines(outcome.err);
    EXPECT_EQ(std::count_if(errors.begin(), errors.end(),
                            [](const std::string& text) { return text.starts_with("lockstep: error"); }),
              1)
        << command << ": " << outcome.err;
    EXPECT_TRUE(std::regex_search(outcome.err, line)) << command << ": " << outcome.err;
  }
}

TEST_F(Output, ModelIsSavedWhereStdoutTakesNothing) {
  const TemporaryFolder folder;
  const std::string run_directory = (folder / "run").string();
  const std::string file = (folder / "lenet.safetensors").string();
  const std::string command = "'" LOCKSTEP_PROGRAM "' train --epochs 2 --data-dir '" + data_->string() +
                              "' --run-dir '" + run_directory + "' --save-model '" + file + "'";
  const auto expect_models = [&](const Outcome& outcome, const std::string& reason) {
    EXPECT_NE(outcome.err.find("lockstep: warning: stdout: " + reason), std::string::npos) << outcome.err;
    const Outcome saved = lockstep(0, {"inspect", file, "--model", "lenet"});
    const std::string digest = digest_of(saved.out);
    const std::string events = contents(run_directory + "/metrics.jsonl");
    EXPECT_NE(events.find(digest), std::string::npos) << events;
    EXPECT_TRUE(std::filesystem::exists(run_directory + "/checkpoints/final.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(run_directory + "/report.html"));
    std::filesystem::remove_all(run_directory);
    std::filesystem::remove(file);
  };
  const Outcome full = run({"sh", "-c", "exec " + command + " > /dev/full"});
  EXPECT_EQ(full.status, 4);
  expect_models(full, "No space left on device");

  const std::string closed = (folder / "closed").string();  // exists when nobody reads the pipe any more
  const std::string status = (folder / "status").string();
  expect_models(run({"sh", "-c",
                     "{ until [ -e '" + closed + "' ]; do sleep 0.01; done; " + command + "; echo $? > '" +
                         status + "'; } | { exec 0<&-; : > '" + closed + "'; }; until [ -s '" + status +
                         "' ]; do sleep 0.01; done"}),
                "Broken pipe");
  std::ifstream stream(status);
  int value = 0;
  stream >> value;
  EXPECT_EQ(value, 4);
}

TEST_F(Output, FolderAsModelFileIsRefusedBeforeTraining) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lockstep(0, {"train", "--data-dir", data_->string(), "--save-model", folder.string()});
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(folder.string() + ": is a folder, not a file"), std::string::npos)
      << outcome.err;
}

TEST_F(Output, DataShowNamesTheClasses) {
  const Outcome moons = lockstep(
      2, {"data", "show", "--dataset", "csv", "--data-dir", LOCKSTEP_SOURCE "/examples/data/two-moons"});
  EXPECT_TRUE(std::regex_match(moons.out, std::regex("train  \\d+ samples of 2 numbers, 2 classes:\n"
                                                     "       lower \\d+, upper \\d+\n"
                                                     "test   \\d+ samples of 2 numbers, 2 classes:\n"
                                                     "       lower \\d+, upper \\d+\n")))
      << moons.out;
  const std::string fashion = lockstep(0, {"data", "show", "--data-dir", data_->string()}).out;
  EXPECT_TRUE(std::regex_search(fashion, std::regex("10 classes:\n       [^,]+ \\d+, [^,]+ \\d+,")))
      << fashion;
}

TEST_F(Output, OrderOfAnEpochIsAPermutation) {
  const Outcome first = lockstep(2, {"data", "order", "--data-dir", data_->string(), "--seed", "1"});
  const Outcome second =
      lockstep(0, {"data", "order", "--data-dir", data_->string(), "--seed", "1", "--epoch", "2"});
  EXPECT_NE(first.out, second.out);
  for (const std::string& text : {first.out, second.out}) {
    std::vector<bool> seen(600, false);
    for (const std::string& line : lines(text)) {
      seen.at(std::stoul(line)) = true;
    }
    EXPECT_EQ(lines(text).size(), 600U);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 600);
  }
}

TEST_F(Output, HelpOfEveryCommandFitsATerminalAndNamesOptionsThatExist) {
  std::set<std::string> named, listed;
  const std::regex flag("--[a-z0-9-]+"), list("^  (--[a-z0-9-]+)");
  for (const char* command : {"train", "eval", "bench", "doctor", "inspect", "data", "report", "diff"}) {
    const Outcome outcome = lockstep(0, {command, "--help"});
    for (const std::string& line : lines(outcome.out)) {
      std::smatch match;
      if (std::regex_search(line, match, list)) listed.insert(match[1].str());
      for (std::sregex_iterator it(line.begin(), line.end(), flag), end; it != end; ++it)
        named.insert(it->str());
    }
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_EQ(outcome.out.rfind("Usage: lockstep " + std::string(command), 0), 0U) << outcome.out;
    for (const std::string& line : lines(outcome.out)) {
      EXPECT_LE(line.size(), 100U) << line;
    }
  }
  EXPECT_EQ(named, listed);
  EXPECT_NE(lockstep(0, {"train", "--help"}).out.find("timm"),
            std::string::npos);  // for options that differ from those of timm
  EXPECT_EQ(lockstep(2, {"--help"}).out, lockstep(0, {"--help"}).out);
  EXPECT_EQ(lockstep(0, {"--version"}).status, 0);
}

TEST_F(Output, BenchShowsThePartsOfAStep) {
  const Outcome step = lockstep(2, {"bench", "step", "--data-dir", data_->string(), "--steps", "3"});
  EXPECT_EQ(step.status, 0) << step.err;
  for (const char* part : {"load", "forward", "backward", "reduce", "update", "img/s"}) {
    EXPECT_NE(step.out.find(part), std::string::npos) << step.out;
  }
}

/// The second example reads the record that the first one writes.
TEST(LongHelp, ExamplesWorkAsShown) {
  const TemporaryFolder folder;
  std::filesystem::copy(LOCKSTEP_RUN, folder.string());
  std::filesystem::create_symlink(LOCKSTEP_PROGRAM, folder / "lockstep");
  std::istringstream help(lockstep(0, {"train", "--help"}).out);
  std::vector<std::string> digests;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("    lockstep")) continue;
    const Outcome outcome =
        run({"sh", "-c", "cd '" + folder.string() + "'; PATH='" + folder.string() + "':$PATH " + line});
    EXPECT_EQ(outcome.status, 0) << line << outcome.err;
    digests.push_back(digest_of(outcome.out));
  }
  ASSERT_EQ(digests.size(), 3U);
  EXPECT_EQ(digests[0], digests[1]);
}

/// Compares the examples with the program, on all of Fashion-MNIST.
TEST(Examples, EndWithTheDigestOfTheTrainer) {
  const Outcome program = lockstep(2, {"train", "--epochs", "1", "--lr", "0.2"});
  const std::string expected = digest_of(program.out);
  for (const char* example : {"/train_lenet", "/from_scratch"}) {
    const Outcome outcome = run({LOCKSTEP_MPIEXEC, "--oversubscribe", "--bind-to", "none", "-np", "2",
                                 std::string(LOCKSTEP_EXAMPLES) + example, "1"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(digest_of(outcome.out), expected) << example;
  }
}

/// Fashion-MNIST is in memory once per host.
TEST(Memory, OfARankStaysBelow150Megabytes) {
  const Outcome outcome = lockstep(2, {"train", "--max-steps", "5"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(outcome.resident_kilobytes, 150 * 1024);
}

long kilobytes_to_show(const std::filesystem::path& csv) {
  const Outcome outcome =
      lockstep(0, {"data", "show", "--dataset", "csv", "--data-dir", csv.string(), "--test-fraction", "0.2"});
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

/// Memory is allocated on first use: without the check, a signal would end the run during training.
TEST(Memory, OfWorkspacesIsCheckedBeforeTraining) {
  const auto pages =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const auto samples =
      static_cast<std::uint64_t>(pages / 20e6);  // of 6 MB each: a third of the memory on each thread
  const Outcome outcome = lockstep(0, {"train", "--dataset", "synthetic", "--synthetic-shape", "3x112x112",
                                       "--model", "resnet18", "--epochs", "0", "--samples", "8", "--threads",
                                       "8", "--micro-batches", "1", "--batch-size", std::to_string(samples)});
  EXPECT_EQ(outcome.status, 4) << outcome.out;
  EXPECT_NE(outcome.err.find("not enough memory: micro-batches of " + std::to_string(samples) +
                             " samples on 8 threads take "),
            std::string::npos)
      << outcome.err;
}

/// Two that start at once, with the same TMPDIR, would share MPI's folder, and could fail on it.
TEST(LoneProcess, NeedsNoFolderOfMpi) {
  const TemporaryFolder folder;
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof host), 0);
  const std::string name = std::string("ompi.") + host + "." + std::to_string(getuid());
  std::ofstream(folder / name) << "no folder can have this name";
  const Outcome outcome = lockstep(0,
                                   {"train", "--dataset", "synthetic", "--samples", "64", "--model", "mlp:8",
                                    "--epochs", "1", "--run-dir", "none", "--device", "cpu"},
                                   {"TMPDIR=" + folder.string()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

}  // namespace
}  // namespace lockstep::test
