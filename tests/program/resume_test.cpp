// Runs that are stopped or killed and continued, on other numbers of ranks. The first 1,000 images of
// Fashion-MNIST: four steps an epoch.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/started.h"

namespace lockstep::test {
namespace {

class Resume : public testing::Test {
 protected:
  using Arguments = std::vector<std::string>;

  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_small_fashion_mnist(*folder_, 1000, 333);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Arguments training(const Arguments& more) {
    return with({"train", "--data-dir", folder_->string(), "--device", "cpu", "--threads", "1"}, more);
  }
  static Outcome train(int ranks, const Arguments& more) { return lockstep(ranks, training(more)); }
  /// Continues `run`, in its own directory.
  static Outcome resume(int ranks, const std::string& run, const Arguments& more = {}) {
    return train(ranks, with({"--resume", run, "--run-dir", "auto"}, more));
  }
  /// A run with all states that a checkpoint holds.
  static Arguments recipe(const std::string& run, const std::string& epochs = "2") {
    return {"--epochs", epochs,        "--optimizer", "adamw",       "--lr",
            "0.01",     "--mixup",     "0.2",         "--model-ema", "--model-ema-decay",
            "0.9",      "--clip-grad", "1",           "--run-dir",   run};
  }
  static Arguments with(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// metrics.jsonl without times and without events about checkpoints.
  static std::vector<std::string> record(const std::string& run) {
    std::vector<std::string> events;
    std::istringstream lines(contents(run + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      auto event = nlohmann::json::parse(line);
      if (event["event"] == "checkpoint") continue;
      event.erase("seconds");
      event.erase("images_per_second");
      events.push_back(event.dump());
    }
    return events;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> Resume::folder_;

TEST_F(Resume, InMidEpochOnOtherRanksHasTheSameDigestAndRecord) {
  const TemporaryFolder runs;
  const std::string whole = (runs / "whole").string();
  const std::string digest = digest_of(train(1, recipe(whole)).out);
  for (const auto& [steps, ranks] : {std::pair("3", 1), {"6", 3}}) {
    const std::string part = (runs / steps).string();
    const Outcome first = train(2, with(recipe(part), {"--max-steps", steps}));
    ASSERT_EQ(first.status, 0) << first.err;
    const Outcome resumed = resume(ranks, part, {"--max-steps", "0"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_NE(resumed.err.find(std::string("from step ") + steps), std::string::npos) << resumed.err;
    EXPECT_EQ(digest_of(resumed.out), digest);
    EXPECT_EQ(record(part), record(whole));  // what was said of the shorter run's end is cut off
    EXPECT_EQ(contents(part + "/checkpoints/final.safetensors"),
              contents(whole + "/checkpoints/final.safetensors"));
  }
}

TEST_F(Resume, EvaluationTakesACheckpointWithTheOptionsOfItsRun) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  const Outcome trained = train(1, recipe(run));  // with averages
  const Outcome model = lockstep(0, {"eval", "--data-dir", folder_->string(), "--batch-size", "256",
                                     run + "/checkpoints/final.safetensors"});
  for (const std::string& path :
       {run, run + "/checkpoints/step-00000008", run + "/checkpoints/step-00000008/"}) {
    const Outcome checkpoint = lockstep(2, {"eval", "--checkpoint", path});
    EXPECT_EQ(checkpoint.status, 0) << checkpoint.err;
    EXPECT_EQ(checkpoint.out, model.out);
  }
  std::filesystem::resize_file(run + "/checkpoints/step-00000008/model.safetensors", 1000);
  const Outcome earlier = lockstep(2, {"eval", "--checkpoint", run});
  EXPECT_EQ(earlier.out, lockstep(0, {"eval", "--checkpoint", run + "/checkpoints/step-00000004"}).out);
  const std::string warning = "; the checkpoint before it is used";
  EXPECT_NE(earlier.err.find(warning), std::string::npos) << earlier.err;
  EXPECT_EQ(earlier.err.find(warning), earlier.err.rfind(warning)) << "one rank tells it";
  EXPECT_EQ(lockstep(0, {"eval"}).status, 2);
  EXPECT_EQ(lockstep(0, {"eval", "--checkpoint", runs.string()}).status, 3);
}

TEST_F(Resume, FromAnEarlierCheckpointSetsTheLaterOnesAside) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  const Outcome first = train(1, {"--epochs", "3", "--run-dir", run});
  const Outcome nothing = resume(1, run + "/checkpoints/step-00000004", {"--max-steps", "4"});
  EXPECT_EQ(nothing.status, 0) << nothing.err;
  EXPECT_NE(nothing.err.find("checkpoints of steps after 4 are now called step-*.aside"), std::string::npos)
      << nothing.err;
  std::string last;
  for (const auto& entry : std::filesystem::directory_iterator(run + "/checkpoints")) {
    if (entry.path().filename().string().starts_with("step-00000012.")) last = entry.path().string();
  }
  EXPECT_EQ(lockstep(0, {"inspect", "--verify", last}).status, 0) << "still whole";
  const Outcome rest = resume(1, run, {"--max-steps", "0"});
  EXPECT_NE(rest.err.find("from step 4"), std::string::npos) << rest.err;
  EXPECT_EQ(digest_of(rest.out), digest_of(first.out));
  EXPECT_FALSE(std::filesystem::exists(last)) << "replaced";
}

/// A short version of tests/chaos/kill_and_resume.sh.
TEST_F(Resume, AfterARankIsKilledHasTheSameDigestAndRecord) {
  const TemporaryFolder runs;
  const std::string whole = (runs / "whole").string();
  const std::string digest = digest_of(train(1, recipe(whole, "20")).out);
  for (const std::size_t rank : {0U, 2U}) {
    const std::string part = (runs / std::to_string(rank)).string();
    const Arguments always = with(recipe(part, "20"), {"--resume", "auto", "--checkpoint-every", "1"});
    Started first(lockstep_command(3, training(always)));
    first.await_line("epoch 3/");
    const std::vector<pid_t> ranks = first.processes_of(LOCKSTEP_PROGRAM);
    ASSERT_EQ(ranks.size(), 3U);
    kill(ranks[rank], SIGKILL);
    EXPECT_NE(first.wait(60.0).status, 0);
    const Outcome resumed = train(rank == 0 ? 1 : 4, always);
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_NE(resumed.err.find("from step "), std::string::npos) << resumed.err;
    EXPECT_EQ(digest_of(resumed.out), digest);
    EXPECT_EQ(record(part), record(whole));
  }
}

TEST_F(Resume, OfAFinishedRunHasNothingToDoUnlessEpochsAreAdded) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  const Outcome first = train(1, {"--epochs", "1", "--run-dir", run});
  const Outcome again = resume(1, run);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.err.find("nothing to do"), std::string::npos) << again.err;
  EXPECT_EQ(digest_of(again.out), digest_of(first.out));
  const Outcome longer = resume(2, run, {"--epochs", "2"});
  EXPECT_EQ(digest_of(longer.out), digest_of(train(1, {"--epochs", "2"}).out));
  const std::string chosen = contents(run + "/options.cfg");
  const Outcome shorter = resume(1, run, {"--epochs", "1"});
  EXPECT_EQ(shorter.status, 2) << shorter.err;
  EXPECT_NE(shorter.err.find("--epochs: 1 is less than the epochs that the run has begun: 2 (step 8)"),
            std::string::npos)
      << shorter.err;
  const Outcome fewer_steps = resume(1, run, {"--max-steps", "7"});
  EXPECT_EQ(fewer_steps.status, 2) << fewer_steps.err;
  EXPECT_NE(fewer_steps.err.find("--max-steps: 7 is less than the steps that the run has made: 8"),
            std::string::npos)
      << fewer_steps.err;
  EXPECT_EQ(contents(run + "/options.cfg"), chosen);
}

TEST_F(Resume, DifferencesThatChangeTheResultAreNamed) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  train(1, {"--epochs", "1", "--run-dir", run, "--sched", "cosine"});
  const Outcome other = resume(1, run, {"--lr", "0.3"});
  EXPECT_EQ(other.status, 2) << other.err;
  EXPECT_NE(other.err.find("--lr: "), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("lr was 0.1 and is now 0.3"), std::string::npos) << other.err;
  const Outcome schedule = resume(1, run, {"--epochs", "2"});
  EXPECT_EQ(schedule.status, 2) << schedule.err;
  EXPECT_NE(schedule.err.find("epochs was 1 and is now 2"), std::string::npos) << schedule.err;
  EXPECT_EQ(resume(1, run, {"--lr", "0.3", "--force"}).status, 0);
  const Outcome average = resume(1, run, {"--model-ema", "--force"});
  EXPECT_EQ(average.status, 2) << average.err;
  EXPECT_NE(average.err.find("step-00000004 has no 'average', which these options need"), std::string::npos)
      << average.err;
  const Outcome nothing = resume(1, (runs / "none").string());
  EXPECT_EQ(nothing.status, 3) << nothing.err;
}

TEST_F(Resume, AutoBeginsANewRunOrTakesTheNewestGoodCheckpoint) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  const Arguments always = with(recipe(run), {"--resume", "auto", "--keep", "9"});
  const Outcome first = train(1, always);
  EXPECT_EQ(first.status, 0) << first.err;
  std::filesystem::resize_file(run + "/checkpoints/step-00000008/model.safetensors", 1000);
  const Outcome second = train(2, always);
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_NE(second.err.find("step-00000008"), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("from step 4"), std::string::npos) << second.err;
  EXPECT_EQ(digest_of(second.out), digest_of(first.out));

  // Where none is good, nothing is begun anew, and nothing is changed.
  for (const auto& entry : std::filesystem::directory_iterator(run + "/checkpoints")) {
    if (entry.is_directory()) std::filesystem::resize_file(entry.path() / "model.safetensors", 1000);
  }
  const std::string metrics = contents(run + "/metrics.jsonl");
  const Outcome third = train(1, always);
  EXPECT_EQ(third.status, 3) << third.err;
  EXPECT_NE(third.err.find("/checkpoints: none of the checkpoints is good"), std::string::npos) << third.err;
  EXPECT_EQ(contents(run + "/metrics.jsonl"), metrics);

  // A run that ended before its first checkpoint is told from a folder without a run.
  std::filesystem::remove_all(run + "/checkpoints");
  const Outcome begun = resume(1, run);
  EXPECT_EQ(begun.status, 3) << begun.err;
  EXPECT_NE(begun.err.find("has no checkpoint yet; begin it again there"), std::string::npos) << begun.err;
}

/// Nothing is written where the checkpoint happens to be.
TEST_F(Resume, ACheckpointElsewhereNeedsARunDirectory) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string(), copy = (runs / "a/b/step-00000004").string();
  const Outcome first = train(1, recipe(run));
  std::filesystem::create_directories(copy);
  std::filesystem::copy(run + "/checkpoints/step-00000004", copy);
  const Outcome nowhere = train(1, with(recipe("auto"), {"--resume", copy}));
  EXPECT_EQ(nowhere.status, 2) << nowhere.err;
  EXPECT_NE(nowhere.err.find("is not in the folder 'checkpoints' of a run directory"), std::string::npos)
      << nowhere.err;
  const Outcome there = train(1, with(recipe((runs / "new").string()), {"--resume", copy}));
  EXPECT_EQ(digest_of(there.out), digest_of(first.out)) << there.err;
  std::filesystem::remove(runs / "new/metrics.jsonl");
  const Outcome mixed = train(1, recipe((runs / "new").string()));
  EXPECT_EQ(mixed.status, 2) << mixed.err;
  EXPECT_NE(mixed.err.find("/new already holds checkpoints"), std::string::npos) << mixed.err;
  const Outcome kept_nowhere = train(1, with(recipe("none"), {"--resume", copy}));
  EXPECT_EQ(digest_of(kept_nowhere.out), digest_of(first.out)) << kept_nowhere.err;
  EXPECT_NE(kept_nowhere.err.find("nothing is kept of this run (--run-dir none), continued from step 4"),
            std::string::npos)
      << kept_nowhere.err;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(runs / "a"), {}), 1);
}

TEST_F(Resume, TheFolderOfARunsCheckpointsStandsForTheRun) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  train(1, with(recipe(run, "1"), {"--max-steps", "2"}));
  const Outcome rest = resume(1, run + "/checkpoints/", {"--max-steps", "0"});
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_NE(rest.err.find("from step 2"), std::string::npos) << rest.err;
  EXPECT_EQ(digest_of(rest.out), digest_of(train(1, recipe((runs / "whole").string(), "1")).out));
}

TEST_F(Resume, WarnsOfWhatTheRecordLacks) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string(), file = run + "/metrics.jsonl";
  train(1, {"--epochs", "1", "--max-steps", "2", "--run-dir", run});
  std::string lines = contents(file);
  lines.at(0) = 'x';
  std::ofstream(file) << lines;
  const Outcome damaged = resume(1, run, {"--max-steps", "3"});
  EXPECT_NE(damaged.err.find("/metrics.jsonl: damaged lines that were left out: 1\n"), std::string::npos)
      << damaged.err;
  std::filesystem::remove(file);
  const Outcome missing = resume(1, run, {"--max-steps", "4"});
  EXPECT_NE(missing.err.find("/metrics.jsonl: missing, so the record begins after step 3\n"),
            std::string::npos)
      << missing.err;
}

TEST_F(Resume, ARunThatGoesOnElsewhereTakesItsBestModelAlong) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string(), other = (runs / "other").string();
  train(1, {"--lr", "0", "--epochs", "1", "--run-dir", run});
  const Outcome longer = train(1, {"--resume", run, "--run-dir", other, "--epochs", "2"});
  EXPECT_NE(longer.err.find("best epoch 1"), std::string::npos) << longer.err;
  EXPECT_EQ(contents(other + "/checkpoints/best.safetensors"),
            contents(run + "/checkpoints/best.safetensors"));
}

TEST_F(Resume, RunsWithoutADirectoryGetOneWithTheNextNumber) {
  const TemporaryFolder place;
  const std::string data = folder_->string();
  for (const char* expected : {"runs/lenet-fashion-mnist-1", "runs/lenet-fashion-mnist-2"}) {
    const Outcome outcome =
        run({"sh", "-c", "cd \"$1\" && LOCKSTEP_RUN_DIR= exec \"$2\" train --data-dir \"$3\" --max-steps 1",
             "sh", place.string(), LOCKSTEP_PROGRAM, data});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string("run directory ") + expected), std::string::npos) << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(place / (std::string(expected) + "/checkpoints/final.safetensors")));
  }
}

}  // namespace
}  // namespace lockstep::test
