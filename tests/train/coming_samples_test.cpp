#include "train/step/coming_samples.h"

#include <gtest/gtest.h>

#include "train/synthetic.h"

namespace lockstep {
namespace {

struct EpochOfRun {
  const char* name;
  std::uint64_t samples, batch;
  std::uint32_t micro_batch;
  int ranks = 1, executors = 1;
  bool drop_last = false;
  std::vector<double> weights = {};

  EpochSteps epoch() const {
    return {drop_last ? samples / batch : (samples + batch - 1) / batch, batch, samples};
  }
  Assignment assigned(std::uint32_t leaves, int rank) const {
    return assign(leaves, ranks, rank, executors, weights);
  }
};

using Ranges = std::vector<SampleRange>;

std::vector<Ranges> coming_to(const EpochOfRun& run, const Loader& loader, int rank,
                              std::uint64_t first_step = 0) {
  return coming_samples(loader, run.epoch(), first_step,
                        [&](std::uint32_t leaves) { return run.assigned(leaves, rank); });
}

/// Micro-batches of at most `max` samples, as readers cut them.
Ranges micro_batches(const Ranges& ranges, std::uint64_t max) {
  Ranges cut;
  for (SampleRange rest : ranges) {
    for (; rest.samples > 0; rest = {rest.first + cut.back().samples, rest.samples - cut.back().samples}) {
      cut.push_back({rest.first, std::min(rest.samples, max)});
    }
  }
  return cut;
}

/// Ranges that an executor requests from the loader in the steps of an epoch.
Ranges computed(const EpochOfRun& run, Loader& loader, int rank, std::size_t executor) {
  Ranges found;
  for (std::uint64_t step = 0; step < run.epoch().steps; ++step) {
    const std::uint64_t samples = run.epoch().samples_at(step);
    loader.set_step(step * run.batch, samples);
    const Assignment assignment = run.assigned(loader.leaves(samples), rank);
    for (std::uint32_t leaf = assignment.executors[executor]; leaf < assignment.executors[executor + 1];
         ++leaf) {
      found.push_back({loader.position(leaf), loader.samples(leaf)});
    }
  }
  return found;
}

class ComingSamples : public testing::TestWithParam<EpochOfRun> {};

TEST_P(ComingSamples, AreThoseThatExecutorsAskFor) {
  const EpochOfRun& run = GetParam();
  const test::Synthetic set(run.samples, {1, 1, 1}, 2);
  Loader loader(set, run.micro_batch);
  std::uint64_t all = 0;
  for (int rank = 0; rank < run.ranks; ++rank) {
    const std::vector<Ranges> coming = coming_to(run, loader, rank);
    ASSERT_EQ(coming.size(), static_cast<std::size_t>(run.executors));
    for (std::size_t e = 0; e < coming.size(); ++e) {
      EXPECT_EQ(micro_batches(coming[e], run.micro_batch), computed(run, loader, rank, e))
          << "rank " << rank << ", executor " << e;
      for (const SampleRange& range : coming[e]) all += range.samples;
    }
  }
  EXPECT_EQ(all, run.drop_last ? run.epoch().steps * run.batch : run.samples);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, ComingSamples,
    testing::Values(EpochOfRun{"one_executor", 64, 16, 4}, EpochOfRun{"executors", 64, 16, 4, 1, 3},
                    EpochOfRun{"ranks_with_executors", 64, 32, 4, 2, 2},
                    EpochOfRun{"short_last_batch", 58, 16, 4, 2,
                               2},  // 10 samples: the last micro-batch has 2
                    EpochOfRun{"drop_last", 58, 16, 4, 2, 2, true},
                    EpochOfRun{"last_step_with_fewer_leaves_than_executors", 49, 16, 4, 1, 4},
                    EpochOfRun{"last_step_with_fewer_leaves_than_ranks", 49, 16, 4, 3, 1},
                    EpochOfRun{"weights", 70, 32, 4, 2, 2, false, {1.0, 7.0}},
                    EpochOfRun{"an_idle_rank", 58, 16, 4, 3, 2, false, {1.0, 0.0, 1.0}}),
    [](const auto& run) { return std::string(run.param.name); });

TEST(ComingSamples, AreOneRangeOfEachStepInWhichThereIsAPart) {
  const EpochOfRun run{"", 49, 16, 4, 2, 2, false, {1.0, 3.0}};
  const test::Synthetic set(run.samples, {1, 1, 1}, 2);
  const Loader loader(set, run.micro_batch);
  EXPECT_EQ(coming_to(run, loader, 0), (std::vector<Ranges>{{{0, 4}, {16, 4}, {32, 4}}, {}}));
  EXPECT_EQ(coming_to(run, loader, 1),
            (std::vector<Ranges>{{{4, 4}, {20, 4}, {36, 4}, {48, 1}}, {{8, 8}, {24, 8}, {40, 8}}}));
  EXPECT_EQ(coming_to(run, loader, 1, 2), (std::vector<Ranges>{{{36, 4}, {48, 1}}, {{40, 8}}}));
}

}  // namespace
}  // namespace lockstep
