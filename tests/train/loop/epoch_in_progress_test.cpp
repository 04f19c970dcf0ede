#include "train/loop/epoch_in_progress.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "train/phases.h"

namespace lockstep::test {
namespace {

TEST(EpochInProgress, AddsTheTimesOfItsSteps) {
  Phases run(world(), options());
  const RunHooks hooks;
  const RunParts parts{
      .session = run.session, .run = run.run, .steps = run.steps, .state = run.state, .hooks = hooks};
  EpochInProgress epoch(parts);
  struct Row {
    std::uint64_t step;
    double seconds, load_seconds;
  };
  for (const auto& [step, seconds, load_seconds] :
       {Row{0, 2.0, 0.25}, Row{1, 4.0, 0.5}, Row{5, 2.0, 0.25}}) {  // five steps per epoch
    run.state.progress.step = step;
    epoch.enter();
    epoch.add({.steps = 1, .load = 0.25, .forward = 0.5, .backward = 0.25, .total = 2.0});
    const EpochReport report = epoch.report();
    EXPECT_EQ(report.seconds, seconds) << step;
    EXPECT_EQ(report.load_seconds, load_seconds) << step;
    EXPECT_EQ(report.load_share, 0.25) << step;
  }
}

}  // namespace
}  // namespace lockstep::test
