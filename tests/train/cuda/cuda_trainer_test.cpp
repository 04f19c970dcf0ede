// Whole runs on the CUDA backend, compared with the CPU. The GPU is emulated: recorded programs are replayed,
// and the host cannot read device memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "lockstep/evaluation.h"
#include "train/small_run.h"

namespace lockstep::test {
namespace {

TrainerOptions on(DeviceKind device, TrainerOptions chosen) {
  chosen.execution.device = device;
  chosen.reduce = Reduce::canonical;
  return chosen;
}

void expect_as_on_cpu(const TrainerOptions& chosen, const Network& network, double tolerance) {
  const FinishedRun gpu = train(on(DeviceKind::cuda, chosen), network);
  const FinishedRun cpu = train(on(DeviceKind::cpu, chosen), network);
  ASSERT_EQ(gpu.steps.size(), cpu.steps.size());
  for (std::size_t i = 0; i < gpu.steps.size(); ++i) {
    EXPECT_NEAR(gpu.steps[i].loss, cpu.steps[i].loss, tolerance) << "step " << i + 1;
  }
  ASSERT_EQ(gpu.epochs.size(), cpu.epochs.size());
  for (std::size_t i = 0; i < gpu.epochs.size(); ++i) {
    EXPECT_EQ(gpu.epochs[i].train.samples, cpu.epochs[i].train.samples);
    EXPECT_EQ(gpu.epochs[i].test.samples, cpu.epochs[i].test.samples);
    EXPECT_NEAR(gpu.epochs[i].test.loss, cpu.epochs[i].test.loss, tolerance);
    EXPECT_NEAR(gpu.epochs[i].test.accuracy, cpu.epochs[i].test.accuracy, 0.03);
  }
}

/// The host's work while recording must not count as step time.
TEST(CudaTrainer, KnowsTimesOfWholeStepsOnly) {
  for (const bool graphs : {true, false}) {
    TrainerOptions chosen = on(DeviceKind::cuda, options());
    chosen.execution.cuda_graph = graphs;
    Trainer trainer = small_trainer(chosen);
    for (int run = 0; run < 2; ++run) {
      const StepTimes times = trainer.steps(2);
      EXPECT_FALSE(times.by_part);
      EXPECT_GT(times.total, 0.0);
      for (const double part :
           {times.load, times.forward, times.backward, times.fold, times.reduce, times.update}) {
        EXPECT_EQ(part, 0.0);
      }
    }
  }
}

TEST(CudaTrainer, FollowsTheCpu) { expect_as_on_cpu(options(), small_network(), 1e-4); }

TEST(CudaTrainer, FollowsTheCpuWithBatchNorm) {
  expect_as_on_cpu(options(), *network_with_batch_norm(), 1e-3);
}

TEST(CudaTrainer, FollowsTheCpuWithEverythingElse) {
  TrainerOptions chosen = options();
  chosen.optimizer = {.name = "lamb", .weight_decay = 0.1, .clip_grad = 1.0};
  chosen.learning_rate = 0.01F;
  chosen = augmented(chosen);
  chosen.label_smoothing = 0.1F;
  chosen.model_ema = true;
  chosen.model_ema_decay = 0.9;
  chosen.schedule = {.name = "cosine"};
  expect_as_on_cpu(chosen, small_network(), 1e-3);
}

/// The GPU augments samples in its own memory.
TEST(CudaTrainer, FollowsTheCpuWithAugmentationOnTheGpu) {
  TrainerOptions chosen = options();
  chosen.input = {.mean = {0.3}, .deviation = {0.4}};
  chosen.augment = {.crop_padding = 1, .hflip = 0.5, .cutout = 3, .mixup = 0.2};
  expect_as_on_cpu(chosen, small_network(), 1e-4);
}

TEST(CudaTrainer, IsGivenAsManyStepsAtOnceAsAreWanted) {
  TrainerOptions chosen = on(DeviceKind::cuda, options());
  const std::string expected = train(chosen, small_network()).digest;
  for (const std::uint64_t steps : {1, 3, 100'000}) {
    chosen.execution.steps_at_once = steps;
    EXPECT_EQ(train(chosen, small_network()).digest, expected);
    Trainer trainer = small_trainer(chosen);
    const int epoch = static_cast<int>(trainer.steps_per_epoch());
    EXPECT_EQ(trainer.steps(epoch).steps, std::min<std::uint64_t>(steps, trainer.steps_per_epoch()));
  }
}

TEST(CudaTrainer, LearnsInBfloat16) {
  TrainerOptions chosen = on(DeviceKind::cuda, options());
  chosen.execution.dtype = DataType::bf16;
  chosen.epochs = 6;
  chosen.learning_rate = 0.3F;
  const FinishedRun result = train(chosen);
  EXPECT_LT(result.epochs.back().train.loss, 0.95 * result.epochs.front().train.loss);
}

TEST(CudaTrainer, EvaluatesADataSetAtTheAddressOfAnEarlierOne) {
  Trainer gpu = small_trainer(on(DeviceKind::cuda, options()));
  Trainer cpu = small_trainer(on(DeviceKind::cpu, options()));
  std::optional<Synthetic> set;
  for (const std::uint64_t samples : {40U, 90U, 20U}) {
    set.emplace(samples, Shape{1, 12, 12}, 4);
    EXPECT_NEAR(gpu.evaluate(*set).loss, cpu.evaluate(*set).loss, 1e-5) << samples;
  }
}

TEST(CudaTrainer, SavesWhatItEvaluates) {
  const auto network = network_with_batch_norm();
  Trainer trainer(world(), *network, train_set(), test_set(), on(DeviceKind::cuda, options()));
  trainer.fit();
  const std::string file = testing::TempDir() + "cuda_trainer_test.safetensors";
  trainer.save(file);
  const ModelFile model = ModelFile::read(file);
  EXPECT_EQ(digest(*network, model), trainer.digest());
  const auto evaluated_on = [&](DeviceKind device) {
    return evaluate(world(), *network, model, test_set(),
                    {.confusion = true,
                     .batch = {.size = 64, .micro_batches = 4},
                     .execution = {.device = device, .threads = 1}});
  };
  const Evaluation cpu = evaluated_on(DeviceKind::cpu), gpu = evaluated_on(DeviceKind::cuda);
  EXPECT_NEAR(gpu.loss, cpu.loss, 1e-5);
  EXPECT_EQ(gpu.confusion, cpu.confusion);
}

}  // namespace
}  // namespace lockstep::test
