// Runs that are stopped or killed and then resumed on a different number of ranks. They use the first 1,000
// images of Fashion-MNIST: four steps per epoch.
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <filesystem>

#include "support/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

class Resume : public testing::Test {
 protected:
  Resume() { write_small_fashion_mnist(data_, 1000, 333); }

  Words training(const Words& more) const {
    return words("train --data-dir {} --device cpu --threads 1", data_) + more;
  }
  Outcome train(int ranks, const Words& more) const { return lockstep(ranks, training(more)); }
  /// A run that uses all state a checkpoint can hold.
  static Words recipe(const std::string& run, int epochs = 2) {
    return words(
        "--epochs {} --optimizer adamw --lr 0.01 --mixup 0.2 --model-ema --model-ema-decay 0.9 "
        "--clip-grad 1 --run-dir {}",
        epochs, run);
  }

  const TemporaryFolder data_, runs_;
  const std::string run_ = (runs_ / "run").string();
};

/// A short version of tests/chaos/kill_and_resume.sh.
TEST_F(Resume, AfterARankIsKilledHasTheSameDigestAndRecord) {
  const std::string whole = (runs_ / "whole").string();
  const std::string digest = digest_of(train(1, recipe(whole, 10)).out);
  for (const std::size_t rank : {0U, 2U}) {
    const std::string part = (runs_ / std::to_string(rank)).string();
    const Words always = recipe(part, 10) + words("--resume auto --checkpoint-every 1");
    Started first(on_ranks(3, LOCKSTEP_PROGRAM, training(always)));
    first.await_line("epoch 3/");
    const std::vector<pid_t> ranks = first.processes_of(LOCKSTEP_PROGRAM);
    ASSERT_EQ(ranks.size(), 3U);
    kill(ranks[rank], SIGKILL);
    EXPECT_NE(first.wait(60.0).status, 0);
    const Outcome resumed = train(rank == 0 ? 1 : 4, always);
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    expect_holds(resumed.err, "from step ");
    EXPECT_EQ(digest_of(resumed.out), digest);
    EXPECT_EQ(record_of(part), record_of(whole));
  }
}

/// Otherwise the run's checkpoints would go to a new folder without its lock, options and record.
TEST_F(Resume, ARunWhoseDirectoryIsMovedEndsWithAnError) {
  Started moved(
      on_ranks(1, LOCKSTEP_PROGRAM, training(recipe(run_, 1000000) + words("--checkpoint-every 1"))));
  moved.await_line("epoch 2/");
  std::filesystem::rename(run_, runs_ / "elsewhere");
  const Outcome outcome = moved.wait(60.0);
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  expect_holds(outcome.err, "/run: the run directory was moved or replaced");
  EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
  EXPECT_FALSE(holds(outcome.err, "resume with: ")) << outcome.err;
  EXPECT_EQ(runs_.names(), std::vector<std::string>{"elsewhere"});
}

Words tiny_training(int steps_per_epoch, const std::string& run) {
  return words(
      "train --dataset synthetic --synthetic-shape 1x8x8 --samples {} --model mlp:8 --batch-size 8 "
      "--micro-batches 2 --device cpu --threads 1 --run-dir {}",
      8 * steps_per_epoch, run);
}

/// From a chosen rename on, all file system calls fail, as if the process were killed there. The command it
/// printed, or the original command if it printed none, must then yield the same result. lockstep-run repeats
/// the same commands.
TEST_F(Resume, AStartThatGoesBackCanBeRepeatedWhereverItEnds) {
  const auto copy = [&](const std::string& name) {
    std::filesystem::copy(run_, runs_ / name, std::filesystem::copy_options::recursive);
    return (runs_ / name).string();
  };
  const auto back = [](const std::string& run) {
    return words("train --resume {}/checkpoints/step-00000005 --run-dir auto --force --lr 0.05", run);
  };
  ASSERT_EQ(lockstep(0, tiny_training(10, run_) + words("--epochs 2 --checkpoint-every 5 --keep 9")).status,
            0);
  const std::string whole = copy("whole"), log = (runs_ / "calls").string();
  const std::string digest = digest_of(mpirun(LOCKSTEP_FAILING, 0, back(whole), {"FAILING_LOG=" + log}).out);
  const Words calls = lines_of(contents(log));
  int ends = 0;
  for (std::size_t i = 0; i < calls.size() && !holds(calls[i], "/.step-"); ++i) {
    if (!calls[i].starts_with("rename ")) continue;  // what the start writes takes effect only with a rename
    SCOPED_TRACE("from " + calls[i] + " on");
    const std::string part = copy(std::to_string(++ends));
    const Outcome ended = mpirun(
        LOCKSTEP_FAILING, 0, back(part),
        {"FAILING_CALL=" + std::to_string(i + 1), "FAILING_LATER=1", "FAILING_ERRNO=" + std::to_string(EIO)});
    EXPECT_EQ(ended.status, 4) << ended.err;
    const std::string advice = after_last(ended.err, " with: ");
    const Outcome repeated = advice.empty() ? lockstep(0, back(part)) : run({"sh", "-c", advice});
    EXPECT_EQ(repeated.status, 0) << ended.err << repeated.err;
    EXPECT_EQ(digest_of(repeated.out), digest);
    EXPECT_EQ(record_of(part), record_of(whole));
  }
  EXPECT_GT(ends, 5);
}

/// While the source run removes its older checkpoints, each start reads one of them and then rejects
/// --max-steps.
TEST_F(Resume, ARunInProgressCanBeTheSourceOfOthers) {
  Started source(
      on_ranks(0, LOCKSTEP_PROGRAM,
               tiny_training(100, run_) + words("--epochs 1000000 --checkpoint-every 1 --keep 1")));
  const auto metrics = runs_ / "run/metrics.jsonl";  // the first checkpoint may be of step 1
  while (!HasFatalFailure() && count(contents(metrics), R"("event":"checkpoint")") < 2) {
    source.await_line("epoch ");
  }
  for (int start = 0; start < 10; ++start) {
    const Outcome other =
        lockstep(0, words("train --resume {} --run-dir {} --max-steps 1", run_, runs_ / "other"));
    EXPECT_EQ(other.status, 2) << other.err;
    expect_holds(other.err, "--max-steps: 1 is less than the steps that the run has made: ");
  }
}

TEST_F(Resume, AnErrorInTheMiddleOfARunEndsWithTheCommandThatContinuesIt) {
  const TemporaryFolder images;
  write_even_odd_folders(images);
  Started started(on_ranks(1, LOCKSTEP_PROGRAM,
                           words("train --dataset images --data-dir {} --image-size 12 --model mlp:8 "
                                 "--batch-size 32 --recipe none --epochs 1000000 --checkpoint-every 1 "
                                 "--device cpu --threads 1 --run-dir {}",
                                 images, run_)));
  started.await_line("epoch 3/");
  std::filesystem::rename(images / "train", images / "elsewhere");
  const Outcome outcome = started.wait(60.0);
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  expect_holds(outcome.err, "was removed after the data set was opened; resume with: ");
  expect_holds(outcome.err, " train --resume " + run_ + "\n");
}

}  // namespace
}  // namespace lockstep::test
