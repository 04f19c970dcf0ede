// Ranks on GPUs as processes under mpirun: the program on the emulated CUDA backend, whose one GPU they
// share.
#include <gtest/gtest.h>
#include <signal.h>

#include "support/started.h"

namespace lockstep::test {
namespace {

TEST(GpuRanks, ContinueFromCheckpointsOnOtherRanksWithTheSameDigest) {
  const TemporaryFolder runs;
  const auto recipe = [&](const std::string& run, const std::string& graph) {
    return words(
        "train --dataset synthetic --synthetic-shape 1x12x12 --samples 150 --model mlp:12 --epochs 30 "
        "--batch-size 64 --micro-batches 4 --momentum 0.5 --nesterov --mixup 0.2 --model-ema "
        "--model-ema-decay 0.9 --clip-grad 1 --device cuda --reduce canonical --transport messages "
        "--resume auto --cuda-graph {} --run-dir {}",
        graph, runs / run);
  };
  const std::string digest = digest_of(mpirun(LOCKSTEP_EMULATED, 1, recipe("whole", "on")).out);
  for (const auto& [before, after] : {std::pair("on", "off"), {"off", "on"}}) {
    Started stopped(words("{} --oversubscribe --bind-to none -np 2 {}", LOCKSTEP_MPIEXEC, LOCKSTEP_EMULATED) +
                    recipe(before, before));
    stopped.await_line("epoch 1/");
    kill(stopped.process(), SIGUSR1);
    const Outcome first = stopped.wait();
    EXPECT_EQ(first.status, 75) << first.err;
    expect_holds(first.err, "stopped by SIGUSR1");
    const Outcome resumed = mpirun(LOCKSTEP_EMULATED, 3, recipe(before, after));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    expect_holds(resumed.err, "from step ");
    EXPECT_EQ(digest_of(resumed.out), digest) << "graphs " << before << ", then " << after;
  }
}

}  // namespace
}  // namespace lockstep::test
