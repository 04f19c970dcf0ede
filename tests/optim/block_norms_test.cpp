#include "optim/block_norms.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

std::vector<float> values(std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = std::sin(static_cast<float>(i)) * 100.0F;
  return result;
}

TEST(SumOfSquares, IsThatOfDoublePrecision) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 1024U}) {
    double expected = 0.0;
    for (const float value : values(count)) expected += static_cast<double>(value) * value;
    EXPECT_NEAR(sum_of_squares(values(count)), expected, expected * 1e-14) << count;
  }
}

TEST(BlockNorms, SquaresAreOfOneParameterWithoutTheGapBehindIt) {
  const std::vector<Parameter> parameters{{"a", {5, 500}, {}}, {"b", {7}, {}}, {"c", {1024}, {}}};
  const ArenaLayout layout = layout_arena(parameters);
  const BlockNorms norms(parameters, layout);
  const std::vector<float> arena(layout.elements, 1.0F);
  std::vector<double> sums(norms.blocks());
  norms.measure(arena, 0, sums);
  EXPECT_EQ(norms.squares(0, sums), 2500.0);
  EXPECT_EQ(norms.squares(1, sums), 7.0);
  EXPECT_EQ(norms.squares(2, sums), 1024.0);
}

}  // namespace
}  // namespace lockstep
