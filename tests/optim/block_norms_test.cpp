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

class BlockNormsOfThreeParameters : public testing::Test {
 protected:
  const std::vector<Parameter> parameters_{{"a", {5, 500}, {}}, {"b", {7}, {}}, {"c", {1024}, {}}};
  const ArenaLayout layout_ = layout_arena(parameters_);
  const BlockNorms norms_{parameters_, layout_};
};

TEST_F(BlockNormsOfThreeParameters, BlocksStayInsideParameters) {
  EXPECT_EQ(norms_.blocks(), 3U + 1U + 1U);
  EXPECT_EQ(norms_.round_up(0), 0U);
  EXPECT_EQ(norms_.round_up(1), 1024U);
  EXPECT_EQ(norms_.round_up(2049), layout_.offsets[1]);
  EXPECT_EQ(norms_.round_up(layout_.offsets[2] + 1), layout_.elements);
  EXPECT_EQ(norms_.block_at(layout_.offsets[2]), 4U);
}

TEST_F(BlockNormsOfThreeParameters, PartsGiveTheBitsOfTheWhole) {
  const std::vector<float> arena = values(layout_.elements);
  std::vector<double> whole(norms_.blocks()), parts(norms_.blocks());
  norms_.measure(arena, 0, whole);
  for (std::size_t block = 0; block < norms_.blocks(); ++block) {
    const std::size_t begin = block == 3   ? layout_.offsets[1]
                              : block == 4 ? layout_.offsets[2]
                                           : block * 1024;
    norms_.measure(std::span(arena).subspan(begin), block, std::span(parts).subspan(block, 1));
  }
  EXPECT_EQ(parts, whole);
}

TEST_F(BlockNormsOfThreeParameters, SquaresAreOfOneParameterWithoutTheGapBehindIt) {
  std::vector<float> arena(layout_.elements, 1.0F);
  std::vector<double> sums(norms_.blocks());
  norms_.measure(arena, 0, sums);
  EXPECT_EQ(norms_.squares(0, sums), 2500.0);
  EXPECT_EQ(norms_.squares(1, sums), 7.0);
  EXPECT_EQ(norms_.squares(2, sums), 1024.0);
}

}  // namespace
}  // namespace lockstep
