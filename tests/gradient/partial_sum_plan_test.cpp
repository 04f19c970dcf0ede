#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "gradient/gradients.h"

namespace lockstep {
namespace {

template <typename Check>
void for_all_ranges(Check check) {
  for (std::uint32_t begin = 0; begin <= 16; ++begin) {
    for (std::uint32_t end = begin; end <= begin + 16; ++end) check(begin, end);
  }
}

TEST(PartialSumPlan, LeavesTheCoverOfItsRange) {
  for_all_ranges([](std::uint32_t begin, std::uint32_t end) {
    const PartialSumPlan plan(begin, end);
    std::vector<Node> nodes;
    for (const auto& result : plan.results()) nodes.push_back(result.node);
    EXPECT_EQ(nodes, cover(begin, end));
    EXPECT_EQ(plan.leaves().size(), end - begin);
  });
}

TEST(PartialSumPlan, NeedsFewArenas) {
  for_all_ranges([](std::uint32_t begin, std::uint32_t end) {
    const PartialSumPlan plan(begin, end);
    std::uint32_t bound = 0;
    for (std::uint32_t i = 0; i < plan.results().size(); ++i) {
      bound = std::max(bound, i + 1 + plan.results()[i].node.level);
    }
    EXPECT_LE(plan.arenas(), bound) << begin << " to " << end;
  });
}

TEST(PartialSumPlan, NeedsLogarithmicallyManyArenasFromASubtreeBoundary) {
  for (std::uint32_t leaves = 1; leaves <= 64; ++leaves) {
    const std::uint32_t begin = std::bit_ceil(leaves) * 3;
    EXPECT_LE(PartialSumPlan(begin, begin + leaves).arenas(),
              1 + static_cast<std::uint32_t>(std::bit_width(leaves - 1)));
  }
}

TEST(PartialSumPlan, SumsInTheOrderOfTheTree) {
  constexpr std::size_t elements = 7;
  for_all_ranges([](std::uint32_t begin, std::uint32_t end) {
    const PartialSumPlan plan(begin, end);
    std::vector<AlignedFloats> arenas = compute(plan, begin, elements);
    for (const auto& result : plan.results()) {
      for (std::size_t e = 0; e < elements; ++e) {
        EXPECT_EQ(arenas[result.arena].data()[e], reference_sum(result.node.begin, result.node.end(), e));
      }
    }
  });
}

TEST(Assign, GivesEveryExecutorARangeOfItsRank) {
  for (int rank = 0; rank < 3; ++rank) {
    const Assignment assignment = assign(16, 3, rank, 2);
    EXPECT_EQ(assignment.leaves, 16u);
    EXPECT_EQ(assignment.ranks, partition(16, 3));
    EXPECT_EQ(assignment.executors.front(), assignment.ranks[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(assignment.executors.back(), assignment.ranks[static_cast<std::size_t>(rank) + 1]);
    EXPECT_EQ(assignment.executors.size(), 3u);
  }
}

}  // namespace
}  // namespace lockstep
