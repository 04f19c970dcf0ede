// Steps with non-finite losses or gradients within groups of steps submitted together.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "train/poisoned.h"

namespace lockstep::test {
namespace {

/// `host_fed`: uses an augmentation that the host computes.
PoisonedRun run(DeviceKind device, OnNan on_nan, bool host_fed, std::uint64_t steps_at_once) {
  TrainerOptions chosen = poisoned_options(on_nan);
  chosen.reduce = Reduce::canonical;
  chosen.execution.device = device;
  chosen.execution.steps_at_once = steps_at_once;
  if (host_fed) chosen.augment = {.random_resized_crop = true};
  const TemporaryFolder folder;
  PoisonedRun result;
  result.batch_norm = false;
  result.train(world(), Poisoned({sample_of_step(3), sample_of_step(5)}), chosen,
               on_nan == OnNan::rollback ? folder.path() : std::filesystem::path(), {.every = {.steps = 2}});
  return result;
}

TEST(NotFiniteOnGpu, DoesNotDependOnTheStepsThatAreSubmittedTogether) {
  for (const OnNan on_nan : {OnNan::skip, OnNan::rollback}) {
    const PoisonedRun cpu = run(DeviceKind::cpu, on_nan, false, 1);
    for (const bool host_fed : {false, true}) {
      if (host_fed && on_nan == OnNan::skip) continue;
      const PoisonedRun expected = run(DeviceKind::cuda, on_nan, host_fed, 1);
      EXPECT_EQ(expected.returns(), cpu.returns());
      EXPECT_EQ(expected.skipped_steps, cpu.skipped_steps);
      const PoisonedRun found = run(DeviceKind::cuda, on_nan, host_fed, 50);
      EXPECT_EQ(found.returns(), expected.returns());
      EXPECT_EQ(found.losses, expected.losses);
      EXPECT_EQ(found.digest, expected.digest);
    }
  }
}

/// No training loss depends on a running mean. ReLU hides a NaN in one channel from the loss, unless cuDNN
/// uses an engine that spreads it over all channels, as one on an H200 does.
TEST(NotFiniteOnGpu, AParameterEndsTheRunAtTheEndOfTheEpochAtTheLatest) {
  const struct {
    const char* parameter;
    DataType type;
    std::vector<std::string> words;
  } cases[] = {
      {"running_mean", DataType::fp32, {"at the end of epoch 1 (step 5)", "running_mean' is not finite"}},
      {"conv1.weight", DataType::fp32, {"a smaller learning rate"}},
      {"conv1.weight", DataType::bf16, {"a smaller learning rate"}}};
  for (const auto& [parameter, type, words] : cases) {
    TrainerOptions chosen = poisoned_options(OnNan::stop);
    chosen.execution.device = DeviceKind::cuda;
    chosen.execution.dtype = type;
    TrainerWithNan run(chosen, parameter);
    ASSERT_NE(run.name, "");
    int epochs = 0;
    run.trainer.on_event = observer([&](const EpochReport& /*report*/) { ++epochs; });
    expect_error(Category::data, words, [&] { run.trainer.fit(); });
    EXPECT_EQ(epochs, 0);
  }
}

}  // namespace
}  // namespace lockstep::test
