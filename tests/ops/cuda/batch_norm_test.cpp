// Cases of batch norm in training that the table of operations does not cover.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cuda/run_cuda_op.h"

namespace lockstep::test {
namespace {

constexpr int samples = 7;
constexpr int channels = 24;

OpCase with_relu(bool adds) {
  return norm_case("BatchNorm", {channels, 10, 10}, {.add = adds, .relu = true});
}

TEST(BatchNorm, AddsASecondGradientWhileReading) {
  for (const bool adds : {false, true}) {
    const OpInputs values = random_inputs(with_relu(adds), samples);
    OpInputs both = values;
    const Tensor more = random_inputs(with_relu(adds), samples, 2).grad_output;
    for (std::size_t i = 0; i < more.values.size(); ++i) both.grad_output.values[i] += more.values[i];
    round_to(cuda::Type::fp32, both.grad_output.values);
    const PaddedTensor padded(cuda::Type::fp32, more);
    cuda::OpMemory memory;
    memory.more_grad_output = padded.data();
    const OpValues joined = run_cuda_op(with_relu(adds), values, cuda::Type::fp32, 0, memory);
    const OpValues apart = run_cuda_op(with_relu(adds), both, cuda::Type::fp32);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(joined.grad_inputs[k].values, apart.grad_inputs[k].values);
    EXPECT_EQ(joined.grad_parameters, apart.grad_parameters);
  }
}

/// The output is not saved for backward, which recomputes its sign from the same bits.
TEST(BatchNorm, PassesGradientsWhereTheOutputIsPositive) {
  OpInputs values = random_inputs(with_relu(false), samples);
  std::ranges::fill(values.grad_output.values, 1.0);
  const OpValues results = run_cuda_op(with_relu(false), values, cuda::Type::fp32);
  std::vector<double> positive(channels, 0.0);
  for_each_index(results.output, [&](int n, int c, int h, int w) {
    if (results.output.at(n, c, h, w) > 0.0) ++positive[static_cast<std::size_t>(c)];
  });
  EXPECT_EQ(results.grad_parameters[1], positive) << "the gradient of a bias";
}

TEST(BatchNorm, IsAccurateFarFromZero) {
  OpInputs values = random_inputs(with_relu(false), samples);
  for (double& value : values.inputs[0].values) value = 4096.0 + 0.5 * value;
  round_to(cuda::Type::fp32, values.inputs[0].values);
  const OpValues expected = reference_values(with_relu(false), values);
  const OpValues results = run_cuda_op(with_relu(false), values, cuda::Type::fp32);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto error = [&](std::size_t k) {
      return (results.grad_parameters[k][c] - expected.grad_parameters[k][c]) / samples;
    };
    EXPECT_NEAR(error(2), 0.0, 5e-4) << "mean of channel " << c;  // one unit in the last place
    EXPECT_NEAR(error(3), 0.0, 5e-5) << "variance of channel " << c;
  }
}

TEST(BatchNorm, KeepsNaNInItsChannel) {
  OpInputs values = random_inputs(with_relu(false), samples);
  values.inputs[0].at(0, 3, 0, 5) = NAN;
  values.inputs[0].at(0, 9, 0, 6) = std::numeric_limits<double>::infinity();
  const OpValues results = run_cuda_op(with_relu(false), values, cuda::Type::fp32);
  for (int c = 0; c < channels; ++c) {
    const bool bad = c == 3 || c == 9;
    EXPECT_EQ(std::isnan(results.output.at(0, c, 0, 0)), bad) << c;
    EXPECT_EQ(std::isnan(results.grad_inputs[0].at(0, c, 0, 0)), bad) << c;
    EXPECT_EQ(std::isnan(results.grad_parameters[0][static_cast<std::size_t>(c)]), bad) << c;
  }
}

}  // namespace
}  // namespace lockstep::test
