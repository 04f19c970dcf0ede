#include <gtest/gtest.h>

#include <cmath>

#include "support/image_files.h"
#include "train/predictions.h"

namespace lockstep::test {
namespace {

const ExecutionOptions on_gpu{.device = DeviceKind::cuda, .threads = 2};

void expect_near(const Predicted& gpu, const Predicted& cpu, double tolerance) {
  ASSERT_EQ(gpu.values.size(), cpu.values.size());
  for (std::size_t i = 0; i < cpu.values.size(); ++i) {
    if (std::isnan(gpu.values[i]) && std::isnan(cpu.values[i])) continue;
    EXPECT_NEAR(gpu.values[i], cpu.values[i], tolerance) << i;
  }
}

/// Predicts in several blocks. With micro-batches of two samples, the last one has a single sample.
TEST(PredictorOnGpu, GivesTheOutputsOfTheCpu) {
  const auto network = network_with_batch_norm();
  Synthetic many(405, {1, 12, 12}, 4);
  const Predicted cpu(world(), *network, many, in_micro_batches_of(2));
  const Predicted gpu(world(), *network, many, in_micro_batches_of(2, on_gpu));
  EXPECT_GT(gpu.blocks, 1U);
  expect_near(gpu, cpu, 1e-5);
  ExecutionOptions bf16 = on_gpu;
  bf16.dtype = DataType::bf16;
  expect_near(Predicted(world(), *network, many, in_micro_batches_of(64, bf16)), cpu, 0.05);
}

TEST(PredictorOnGpu, SamplesThatCannotBeReadKeepTheirPlaces) {
  Synthetic files(40, {1, 12, 12}, 4);
  files.kind = Encoding::image_file;
  files.change = [](auto&&, auto& bytes) { bytes = encode_png(bytes, 12, 12, PNG_FORMAT_GRAY); };
  files = files.damaged([](std::uint64_t id) { return id % 3 == 0; });
  const Predicted cpu(world(), small_network(), files, in_micro_batches_of(8));
  const Predicted gpu(world(), small_network(), files, in_micro_batches_of(8, on_gpu));
  EXPECT_EQ(gpu.unreadable.size(), 14U);
  EXPECT_EQ(gpu.unreadable, cpu.unreadable);
  EXPECT_EQ(gpu.reasons, cpu.reasons);
  expect_near(gpu, cpu, 1e-5);
}

}  // namespace
}  // namespace lockstep::test
