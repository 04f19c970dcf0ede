// Batch norm in training, beyond the table of operations: what does not fit into one operation's inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/cuda/kernels/batch_norm_training.h"

namespace lockstep::cuda {
namespace {

using Values = std::vector<float>;
constexpr int channels = 24;
constexpr std::size_t pixels = 700;

Values random_values(std::size_t count, unsigned seed, float scale = 1.0F, float shift = 0.0F) {
  std::mt19937 generator(seed);
  Values values(count);
  for (float& value : values) value = shift + scale * (static_cast<float>(generator()) / 0x1p31F - 1.0F);
  return values;
}

/// A batch norm with ReLU, in host memory.
struct Norm {
  Values input = random_values(pixels * channels, 1);
  Values residual = random_values(pixels * channels, 2);
  Values grad = random_values(pixels * channels, 3);
  Values more = random_values(pixels * channels, 4);
  Values weight = random_values(channels, 5);
  Values bias = random_values(channels, 6);
  bool adds = false;

  Values output = Values(pixels * channels, NAN);
  Values statistics, grad_input, grad_residual, grad_weight, grad_bias, grad_mean, grad_variance;

  NormTraining shared() {
    NormTraining norm{
        .pixels = pixels, .samples = 7, .channels = channels, .eps = 1e-5F, .clamp = {.low = 0.0F}};
    norm.input = input.data();
    norm.weight = weight.data();
    norm.bias = bias.data();
    statistics.resize(norm.statistics_bytes() / sizeof(float));
    scratch_.assign(norm.scratch_bytes(), std::byte{0xff});
    norm.statistics = statistics.data();
    norm.scratch = scratch_.data();
    return norm;
  }
  void forward() { batch_norm_forward(nullptr, {shared(), adds ? residual.data() : nullptr, output.data()}); }
  void backward(bool with_more, bool wants_residual) {
    for (Values* each : {&grad_input, &grad_residual}) each->assign(pixels * channels, NAN);
    for (Values* each : {&grad_weight, &grad_bias, &grad_mean, &grad_variance}) each->assign(channels, NAN);
    batch_norm_backward(
        nullptr, {shared(), adds ? output.data() : nullptr, grad.data(), with_more ? more.data() : nullptr,
                  grad_input.data(), wants_residual ? grad_residual.data() : nullptr, grad_weight.data(),
                  grad_bias.data(), grad_mean.data(), grad_variance.data()});
  }
  /// Mean of a channel, in double.
  double mean_of(int channel) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < pixels; ++i) sum += static_cast<double>(at(input, i, channel));
    return sum / pixels;
  }
  double variance_of(int channel) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < pixels; ++i) {
      const double distance = static_cast<double>(at(input, i, channel)) - mean_of(channel);
      sum += distance * distance;
    }
    return sum / pixels;
  }
  static float at(const Values& values, std::size_t pixel, int channel) {
    return values[pixel * channels + static_cast<std::size_t>(channel)];
  }

 private:
  std::vector<std::byte> scratch_;
};

TEST(BatchNorm, AddsASecondGradientWhileReading) {
  for (const bool adds : {false, true}) {
    Norm joined, apart;
    joined.adds = apart.adds = adds;
    for (std::size_t i = 0; i < apart.grad.size(); ++i) apart.grad[i] += apart.more[i];
    joined.forward();
    apart.forward();
    joined.backward(true, adds);
    apart.backward(false, adds);
    EXPECT_EQ(joined.grad_input, apart.grad_input);
    EXPECT_EQ(joined.grad_weight, apart.grad_weight);
    EXPECT_EQ(joined.grad_bias, apart.grad_bias);
    for (std::size_t i = 0; adds && i < apart.grad.size(); ++i) {
      ASSERT_EQ(joined.grad_residual[i], apart.grad_residual[i]) << i;
    }
  }
}

/// Layers before the residual may be frozen.
TEST(BatchNorm, GivesTheSameBitsWithoutTheResidualsGradient) {
  Norm with, without;
  with.adds = without.adds = true;
  with.forward();
  without.forward();
  with.backward(true, true);
  without.backward(true, false);
  EXPECT_EQ(with.grad_input, without.grad_input);
  EXPECT_EQ(with.grad_weight, without.grad_weight);
  EXPECT_TRUE(std::isnan(without.grad_residual[0]));
  for (std::size_t i = 0; i < with.output.size(); ++i) {
    ASSERT_EQ(with.grad_residual[i], with.output[i] > 0.0F ? with.grad[i] + with.more[i] : 0.0F);
  }
}

/// The output is not kept for backward: its sign is computed again, with the same bits.
TEST(BatchNorm, PassesGradientsWhereTheOutputIsPositive) {
  Norm norm;
  norm.forward();
  norm.grad.assign(norm.grad.size(), 1.0F);
  norm.backward(false, true);
  for (std::size_t i = 0; i < norm.output.size(); ++i) {
    ASSERT_EQ(norm.grad_residual[i], norm.output[i] > 0.0F ? 1.0F : 0.0F) << i;
  }
}

TEST(BatchNorm, IsAccurateFarFromZero) {
  Norm norm;
  norm.input = random_values(pixels * channels, 1, 0.5F, 4096.0F);
  norm.forward();
  norm.backward(false, false);
  for (int c = 0; c < channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    EXPECT_NEAR(norm.statistics[at], norm.mean_of(c), 5e-4) << c;  // one unit in the last place
    EXPECT_NEAR(norm.grad_variance[at] / 7, norm.variance_of(c) * pixels / (pixels - 1), 5e-5) << c;
  }
}

TEST(BatchNorm, KeepsNaNInItsChannel) {
  Norm norm;
  norm.input[5 * channels + 3] = NAN;
  norm.input[6 * channels + 9] = std::numeric_limits<float>::infinity();
  norm.forward();
  norm.backward(false, false);
  for (int c = 0; c < channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const bool bad = c == 3 || c == 9;
    EXPECT_EQ(std::isnan(norm.output[at]), bad) << c;
    EXPECT_EQ(std::isnan(norm.grad_input[at]), bad) << c;
    EXPECT_EQ(std::isnan(norm.grad_weight[at]), bad) << c;
  }
}

}  // namespace
}  // namespace lockstep::cuda
