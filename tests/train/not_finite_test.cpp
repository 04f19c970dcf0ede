// Steps with non-finite losses or gradients, and how the run continues.
#include <gtest/gtest.h>

#include <filesystem>

#include "lockstep/error.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "train/poisoned.h"

namespace lockstep::test {
namespace {

using Steps = std::vector<std::uint64_t>;
constexpr CheckpointOptions at_ends_of_epochs = {.every = {}};

CheckpointOptions every(std::uint64_t steps) { return {.every = {.steps = steps}}; }

std::filesystem::path checkpoint(const TemporaryFolder& folder, int step) {
  return folder / ("step-0000000" + std::to_string(step));
}

TEST(NotFinite, ByDefaultEndsTheRun) {
  PoisonedRun run;
  expect_error(Category::data, {"the loss became", "at step 3"},
               [&] { run.train(world(), Poisoned({sample_of_step(3)}), poisoned_options(OnNan::stop)); });
  ASSERT_EQ(run.reports.size(), 1U);
  EXPECT_EQ(run.reports[0].step, 3U);
  ASSERT_EQ(run.reports[0].samples.size(), 64U);
  EXPECT_EQ(run.reports[0].samples[5], sample_of_step(3));
}

TEST(NotFinite, NoLearningRateIsToBlameForTheFirstStep) {
  PoisonedRun run;
  expect_error(Category::data,
               {"the loss became", "at step 1, before any update, so a smaller learning rate does not help"},
               [&] { run.train(world(), Poisoned({sample_of_step(1)}), poisoned_options(OnNan::stop)); });
}

TEST(NotFinite, SkipLeavesTheStepOut) {
  PoisonedRun usual, clean, skipped;
  usual.train(world(), Poisoned({}), poisoned_options(OnNan::stop));
  clean.train(world(), Poisoned({}), poisoned_options(OnNan::skip));
  EXPECT_EQ(clean.skipped_steps, (Steps{0, 0}));
  EXPECT_EQ(clean.digest, usual.digest) << "nothing is skipped";
  skipped.train(world(), Poisoned({sample_of_step(3)}), poisoned_options(OnNan::skip));
  EXPECT_EQ(skipped.skipped_steps, (Steps{1, 1}));
  EXPECT_NE(skipped.digest, clean.digest);
}

/// A non-finite step changes nothing, so rolling back to a checkpoint just before it is the same as skipping
/// it.
TEST(NotFinite, RollbackToTheStepBeforeIsTheSameAsSkip) {
  const Poisoned train({sample_of_step(3)});
  const TemporaryFolder folder;
  PoisonedRun skipped, back;
  skipped.train(world(), train, poisoned_options(OnNan::skip));
  back.train(world(), train, poisoned_options(OnNan::rollback), folder.path(), every(1));
  EXPECT_EQ(back.digest, skipped.digest);
  EXPECT_EQ(back.losses, skipped.losses);
  EXPECT_EQ(back.skipped_steps, skipped.skipped_steps);
  EXPECT_TRUE(back.returns().starts_with("3>2 ")) << back.returns();
}

/// After a rollback, the batches between the checkpoint and the non-finite step are not repeated, as if all
/// had been skipped.
TEST(NotFinite, RollbackPassesOverTheBatchesSinceTheCheckpoint) {
  std::set<std::uint64_t> all;
  const Permutation order(300, options().seed, 0);
  for (std::uint64_t position = 0; position < 3 * 64; ++position) all.insert(order(position));
  PoisonedRun skipped, back;
  skipped.train(world(), Poisoned(all), poisoned_options(OnNan::skip, 1));
  const TemporaryFolder folder;
  back.train(world(), Poisoned({sample_of_step(3)}), poisoned_options(OnNan::rollback, 1), folder.path(),
             at_ends_of_epochs);
  EXPECT_EQ(back.returns(), "3>0");
  EXPECT_EQ(back.skipped_steps, Steps{3});
  EXPECT_EQ(back.digest, skipped.digest);
  EXPECT_EQ(back.losses, skipped.losses);
}

/// The run is stopped between the two non-finite steps. The checkpoint written at the stop, which the
/// uninterrupted run lacks, must not be used for a rollback.
TEST(NotFinite, AResumedRunGoesBackToTheSameCheckpoints) {
  const Poisoned train({sample_of_step(3), sample_of_step(5)});
  const TrainerOptions chosen = poisoned_options(OnNan::rollback, 3);
  const TemporaryFolder folder, other;
  PoisonedRun whole, parts;
  whole.train(world(), train, chosen, folder.path(), {.every = {}, .keep = 1});
  EXPECT_TRUE(whole.returns().starts_with("3>0 5>0 ")) << whole.returns();
  EXPECT_FALSE(whole.best.at(0)) << "none of its steps counts";
  parts.train(world(), train, chosen, other.path(), {.every = {}, .keep = 1}, {}, 4);
  EXPECT_EQ(parts.returns(), "3>0");
  EXPECT_TRUE(std::filesystem::exists(checkpoint(other, 0))) << "kept, as later steps may go back to it";
  parts.train(world(), train, chosen, other.path(), {.every = {}, .keep = 1}, checkpoint(other, 4));
  EXPECT_EQ(parts.returns(), whole.returns());
  EXPECT_EQ(parts.digest, whole.digest);
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.skipped_steps, whole.skipped_steps);
}

TEST(NotFinite, RollbackTakesAnEarlierCheckpointInsteadOfADamagedOne) {
  const TemporaryFolder folder;
  PoisonedRun run;
  run.on_checkpoint = [&](const CheckpointReport& report) {
    if (report.step == 3) std::filesystem::resize_file(report.folder / "optimizer.safetensors", 10);
  };
  run.train(world(), Poisoned({sample_of_step(4)}), poisoned_options(OnNan::rollback, 1), folder.path(),
            every(1));
  EXPECT_EQ(run.returns(), "4>2");
  ASSERT_FALSE(run.reports.empty());
  EXPECT_NE(run.reports[0].remark.find("step-00000003"), std::string::npos) << run.reports[0].remark;
}

TEST(NotFinite, AParameterEndsTheRunAtTheEndOfTheEpochAndIsInNoCheckpoint) {
  const TemporaryFolder checkpoints;
  for (const OnNan on_nan : {OnNan::stop, OnNan::skip, OnNan::rollback}) {
    TrainerOptions chosen = poisoned_options(on_nan);
    chosen.model_ema = false;
    chosen.model_ema_decay = TrainerOptions().model_ema_decay;
    TrainerWithNan run(chosen);
    Trainer& trainer = run.trainer;
    std::vector<std::string> failures;
    trainer.on_event = observer([&](const CheckpointReport& report) { failures.push_back(report.failure); });
    trainer.write_checkpoints(checkpoints.path(), every(2));
    if (on_nan == OnNan::rollback) {
      expect_error(Category::data,
                   {"step 5: the parameter '" + run.name + "' is not finite", "no good checkpoint before it"},
                   [&] { trainer.fit(); });
      ASSERT_FALSE(failures.empty());
      EXPECT_EQ(failures[0], "the parameter '" + run.name + "' is not finite");
    } else {
      expect_error(Category::data, {"at the end of epoch 1 (step 5)", "'" + run.name + "' is not finite"},
                   [&] { trainer.fit(); });
    }
  }
  EXPECT_TRUE(checkpoints.names().empty());
}

std::set<std::uint64_t> everything() {
  std::set<std::uint64_t> all;
  for (std::uint64_t id = 0; id < 300; ++id) all.insert(id);
  return all;
}

TEST(NotFinite, AfterTenSkippedStepsInARowTheRunEnds) {
  PoisonedRun run;
  expect_error(Category::data, {"10 steps in a row, up to step 10,"},
               [&] { run.train(world(), Poisoned(everything()), poisoned_options(OnNan::skip, 3)); });
  ASSERT_EQ(run.reports.size(), 10U);
  EXPECT_EQ(run.reports[8].handling, OnNan::skip);
  EXPECT_EQ(run.reports[9].handling, OnNan::stop);
}

TEST(NotFinite, SkippedStepsAreCountedFromTheLastOneThatCounts) {
  PoisonedRun run;
  run.train(world(), Poisoned({sample_of_step(3)}), poisoned_options(OnNan::skip, 11));
  EXPECT_EQ(run.skipped_steps, Steps(11, 1));
}

TEST(NotFinite, ARunOfWhichNoStepCountsEndsWithAnError) {
  for (const OnNan on_nan : {OnNan::skip, OnNan::rollback}) {
    const TemporaryFolder folder;
    PoisonedRun run;
    expect_error(Category::data, {"every step up to step 5 was skipped or undone", "smaller learning rate"},
                 [&] {
                   run.train(world(), Poisoned(everything()), poisoned_options(on_nan, 1), folder.path(),
                             at_ends_of_epochs);
                 });
    EXPECT_EQ(run.skipped_steps, Steps{5});
    EXPECT_EQ(run.best, std::vector<bool>{false});
    ASSERT_EQ(run.reports.size(), 6U);
    EXPECT_EQ(run.reports[4].handling, on_nan);
    EXPECT_EQ(run.reports[5].handling, OnNan::stop);
    EXPECT_EQ(run.reports[5].step, 5U);
    EXPECT_EQ(run.reports[5].epoch, 1);
    PoisonedRun resumed;
    expect_error(Category::data, {"every step up to step 5 was skipped or undone"}, [&] {
      resumed.train(world(), Poisoned(everything()), poisoned_options(on_nan, 1), folder.path(),
                    at_ends_of_epochs, checkpoint(folder, 5));
    });
  }
}

TEST(NotFinite, AfterTenReturnsWithoutAWholeEpochTheRunEnds) {
  const TemporaryFolder folder;
  PoisonedRun run;
  expect_error(Category::data, {"step 11: the loss is", "10 returns to a checkpoint"}, [&] {
    run.train(world(), Poisoned(everything()), poisoned_options(OnNan::rollback, 3), folder.path(),
              at_ends_of_epochs);
  });
  ASSERT_EQ(run.reports.size(), 11U) << "the last one, too, whose samples a user wants to see";
  EXPECT_EQ(run.reports[9].handling, OnNan::rollback);
  EXPECT_EQ(run.reports[10].handling, OnNan::stop);
  EXPECT_EQ(run.reports[10].step, 11U);
  EXPECT_EQ(run.reports[10].samples.size(), 64U);
}

TEST(NotFinite, ReturnsAreCountedFromTheLastWholeEpoch) {
  const TemporaryFolder folder;
  PoisonedRun run;
  const Poisoned clean({}), poisoned(everything());
  Poisoned train({});
  train.change = [&](std::uint64_t id, std::vector<std::uint8_t>& pixels) {
    const std::size_t epochs = run.skipped_steps.size();
    (epochs % 2 == 0 ? poisoned : clean).change(id, pixels);
  };
  run.train(world(), train, poisoned_options(OnNan::rollback, 5), folder.path(), at_ends_of_epochs);
  EXPECT_EQ(run.skipped_steps, (Steps{5, 0, 5, 0, 5}));
  EXPECT_EQ(run.reports.size(), 15U);
}

}  // namespace
}  // namespace lockstep::test
