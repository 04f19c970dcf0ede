// Runs that are stopped or killed and continued, on other numbers of ranks. The first 1,000 images of
// Fashion-MNIST: four steps an epoch.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "support/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

class Resume : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    write_small_fashion_mnist(*folder_, 1000, 333);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Words training(const Words& more) {
    return words("train --data-dir {} --device cpu --threads 1", *folder_) + more;
  }
  static Outcome train(int ranks, const Words& more) { return lockstep(ranks, training(more)); }
  /// A run with all states that a checkpoint holds.
  static Words recipe(const std::string& run, int epochs = 2) {
    return words(
        "--epochs {} --optimizer adamw --lr 0.01 --mixup 0.2 --model-ema --model-ema-decay 0.9 "
        "--clip-grad 1 --run-dir {}",
        epochs, run);
  }
  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> Resume::folder_;

/// A short version of tests/chaos/kill_and_resume.sh.
TEST_F(Resume, AfterARankIsKilledHasTheSameDigestAndRecord) {
  const TemporaryFolder runs;
  const std::string whole = (runs / "whole").string();
  const std::string digest = digest_of(train(1, recipe(whole, 10)).out);
  for (const std::size_t rank : {0U, 2U}) {
    const std::string part = (runs / std::to_string(rank)).string();
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

/// Its checkpoints would otherwise go to a new folder without the run's lock, options and record.
TEST_F(Resume, ARunWhoseDirectoryIsMovedEndsWithAnError) {
  const TemporaryFolder runs;
  const std::string run = (runs / "run").string();
  Started moved(
      on_ranks(1, LOCKSTEP_PROGRAM, training(recipe(run, 1000000) + words("--checkpoint-every 1"))));
  moved.await_line("epoch 2/");
  std::filesystem::rename(run, runs / "elsewhere");
  const Outcome outcome = moved.wait(60.0);
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  expect_holds(outcome.err, "/run: the run directory was moved or replaced");
  EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
  EXPECT_FALSE(holds(outcome.err, "resume with: ")) << outcome.err;
  EXPECT_EQ(runs.names(), std::vector<std::string>{"elsewhere"});
}

TEST_F(Resume, AnErrorInTheMiddleOfARunEndsWithTheCommandThatContinuesIt) {
  const TemporaryFolder images, runs;
  write_even_odd_folders(images);
  const std::string run = (runs / "run").string();
  Started started(on_ranks(1, LOCKSTEP_PROGRAM,
                           words("train --dataset images --data-dir {} --image-size 12 --model mlp:8 "
                                 "--batch-size 32 --recipe none --epochs 1000000 --checkpoint-every 1 "
                                 "--device cpu --threads 1 --run-dir {}",
                                 images, run)));
  started.await_line("epoch 3/");
  std::filesystem::rename(images / "train", images / "elsewhere");
  const Outcome outcome = started.wait(60.0);
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  expect_holds(outcome.err, "was removed after the data set was opened; resume with: ");
  expect_holds(outcome.err, " train --resume " + run + "\n");
}

}  // namespace
}  // namespace lockstep::test
