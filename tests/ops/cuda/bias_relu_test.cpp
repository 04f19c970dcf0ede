#include "ops/cuda/bias_relu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "device/cuda/bfloat16.h"

namespace lockstep::cuda {
namespace {

using Values = std::vector<float>;

Values run(Values values, const Values& bias, bool relu) {
  add_bias_relu(nullptr, Type::fp32, values.data(), bias.empty() ? nullptr : bias.data(), values.size() / 2,
                2, relu);
  return values;
}

TEST(BiasRelu, AddsEachChannelsBiasAndCutsNegatives) {
  const Values values{1, -1, -3, 2, 0.5F, -0.25F};
  EXPECT_EQ(run(values, {2, -1}, true), (Values{3, 0, 0, 1, 2.5F, 0}));
  EXPECT_EQ(run(values, {2, -1}, false), (Values{3, -2, -1, 1, 2.5F, -1.25F}));
  EXPECT_EQ(run(values, {}, true), (Values{1, 0, 0, 2, 0.5F, 0}));
}

TEST(BiasRelu, KeepsNaN) { EXPECT_TRUE(std::isnan(run({NAN, 1}, {1, 1}, true)[0])); }

TEST(BiasRelu, RoundsOnceInBfloat16) {
  std::vector<Bfloat16> values{from_float<Bfloat16>(256), from_float<Bfloat16>(-3)};
  const std::vector<Bfloat16> bias{from_float<Bfloat16>(1), from_float<Bfloat16>(1)};
  add_bias_relu(nullptr, Type::bf16, values.data(), bias.data(), 1, 2, true);
  EXPECT_EQ(to_float(values[0]), 256.0F);  // 257 has no bfloat16; ties go to even
  EXPECT_EQ(to_float(values[1]), 0.0F);
}

}  // namespace
}  // namespace lockstep::cuda
