#include "ops/cuda/kernels/epilogue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/bfloat16.h"

namespace lockstep::cuda {
namespace {

using Values = std::vector<float>;

Values run(Values values, const Values& bias, bool relu) {
  run_epilogue(nullptr, {.values = values.data(),
                         .bias = bias.empty() ? nullptr : bias.data(),
                         .relu = relu,
                         .pixels = values.size() / 2,
                         .channels = 2});
  return values;
}

TEST(LateEpilogue, AddsAndCutsNegatives) {
  const Values values{1, -1, -3, 2, 0.5F, -0.25F};
  const Values bias{2, -1};
  EXPECT_EQ(run(values, bias, true), (Values{3, 0, 0, 1, 2.5F, 0}));
  EXPECT_EQ(run(values, bias, false), (Values{3, -2, -1, 1, 2.5F, -1.25F}));
  EXPECT_EQ(run(values, {}, true), (Values{1, 0, 0, 2, 0.5F, 0}));
}

TEST(LateEpilogue, KeepsNaN) { EXPECT_TRUE(std::isnan(run({NAN, 1}, {1, 1}, true)[0])); }

TEST(LateEpilogue, RoundsInBfloat16) {
  const auto bfloats = [](float a, float b) {
    return std::vector{from_float<Bfloat16>(a), from_float<Bfloat16>(b)};
  };
  std::vector<Bfloat16> values = bfloats(256, -3);
  const std::vector<Bfloat16> bias = bfloats(1.5F, 1);
  run_epilogue(nullptr, {.type = Type::bf16,
                         .values = values.data(),
                         .bias = bias.data(),
                         .relu = true,
                         .pixels = 1,
                         .channels = 2});
  EXPECT_EQ(to_float(values[0]), 258.0F);  // 257.5 rounded to bf16
  EXPECT_EQ(to_float(values[1]), 0.0F);
}

}  // namespace
}  // namespace lockstep::cuda
