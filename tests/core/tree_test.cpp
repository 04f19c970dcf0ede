#include "core/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "lockstep/error.h"

namespace lockstep {
namespace {

using Boundaries = std::vector<std::uint32_t>;

std::uint32_t longest(const Boundaries& boundaries) {
  std::uint32_t result = 0;
  for (std::size_t i = 1; i < boundaries.size(); ++i) {
    result = std::max(result, boundaries[i] - boundaries[i - 1]);
  }
  return result;
}

/// Minimum number of subtrees over all partitions into non-empty ranges of at most `limit` leaves.
std::size_t fewest_subtrees(std::uint32_t begin, std::uint32_t leaves, std::uint32_t parts,
                            std::uint32_t limit) {
  if (parts == 0) return begin == leaves ? 0 : std::numeric_limits<std::size_t>::max() / 2;
  std::size_t best = std::numeric_limits<std::size_t>::max() / 2;
  for (std::uint32_t end = begin + 1; end <= std::min(leaves, begin + limit); ++end) {
    best = std::min(best, cover(begin, end).size() + fewest_subtrees(end, leaves, parts - 1, limit));
  }
  return best;
}

/// Additions in the order that the definition of the tree prescribes, as text.
std::string reference_sum(std::uint32_t begin, std::uint32_t end) {
  if (end - begin == 1) return std::to_string(begin);
  std::uint32_t left = 1;
  while (left * 2 < end - begin) left *= 2;
  return "(" + reference_sum(begin, begin + left) + "+" + reference_sum(begin + left, end) + ")";
}

std::string run(const Fold& fold, const std::vector<std::string>& inputs) {
  std::vector<std::string> stack;
  std::size_t depth = 0;
  for (const std::int32_t entry : fold.program) {
    if (entry != Fold::add) {
      stack.push_back(inputs.at(static_cast<std::size_t>(entry)));
    } else {
      const std::string top = stack.back();
      stack.pop_back();
      stack.back() = "(" + stack.back() + "+" + top + ")";
    }
    depth = std::max(depth, stack.size());
  }
  EXPECT_EQ(stack.size(), 1u);
  EXPECT_EQ(fold.depth, depth);
  return stack.back();
}

std::vector<std::string> sums_of(const std::vector<Node>& nodes) {
  std::vector<std::string> sums;
  for (const Node& node : nodes) sums.push_back(reference_sum(node.begin, node.end()));
  return sums;
}

std::vector<Node> covers_of(const Boundaries& boundaries) {
  std::vector<Node> nodes;
  for (std::size_t i = 1; i < boundaries.size(); ++i) {
    for (const Node& node : cover(boundaries[i - 1], boundaries[i])) nodes.push_back(node);
  }
  return nodes;
}

TEST(Partition, IsAscendingAndShortestWithTheFewestSubtrees) {
  for (std::uint32_t leaves = 0; leaves <= 70; ++leaves) {
    for (std::uint32_t parts = 1; parts <= 20; ++parts) {
      SCOPED_TRACE(std::to_string(leaves) + " leaves, " + std::to_string(parts) + " parts");
      const Boundaries boundaries = partition(leaves, parts);
      ASSERT_EQ(boundaries.size(), parts + 1);
      EXPECT_EQ(boundaries.front(), 0u);
      EXPECT_EQ(boundaries.back(), leaves);
      EXPECT_TRUE(std::is_sorted(boundaries.begin(), boundaries.end()));
      EXPECT_EQ(longest(boundaries), (leaves + parts - 1) / parts);
      if (leaves > 16 || parts > leaves) continue;  // the search takes exponential time
      EXPECT_EQ(covers_of(boundaries).size(), fewest_subtrees(0, leaves, parts, longest(boundaries)));
    }
  }
  EXPECT_EQ(covers_of(partition(64, 7)).size(), 13u);
  EXPECT_EQ(covers_of(partition(64, 8)).size(), 8u);
}

TEST(Partition, OfARangeKeepsItsEnds) {
  const Boundaries boundaries = partition(5, 12, 3);
  EXPECT_EQ(boundaries.front(), 5u);
  EXPECT_EQ(boundaries.back(), 12u);
  EXPECT_EQ(longest(boundaries), 3u);
}

TEST(Partition, ZeroPartsIsAnError) { EXPECT_THROW(partition(4, 0), Error); }

TEST(Cover, IsMadeOfMaximalAlignedSubtrees) {
  EXPECT_EQ(cover(0, 13), (std::vector<Node>{{0, 3}, {8, 2}, {12, 0}}));
  EXPECT_EQ(cover(1, 8), (std::vector<Node>{{1, 0}, {2, 1}, {4, 2}}));
  EXPECT_EQ(cover(4, 4), std::vector<Node>{});
}

TEST(Cover, OfAPrefixOnlyGrowsAtTheEnd) {
  for (std::uint32_t leaves = 1; leaves < 64; ++leaves) {
    const std::vector<Node> nodes = cover(0, leaves);
    for (const Node& node : nodes) EXPECT_EQ(cover(node.begin, node.end()).size(), 1u);
    for (std::size_t i = 1; i < nodes.size(); ++i) EXPECT_LT(nodes[i].level, nodes[i - 1].level);
  }
}

TEST(PlanFold, AddsInTheOrderOfTheTreeForAnyPartition) {
  for (std::uint32_t leaves = 1; leaves <= 40; ++leaves) {
    for (std::uint32_t parts = 1; parts <= leaves; ++parts) {
      const std::vector<Node> inputs = covers_of(partition(leaves, parts));
      EXPECT_EQ(run(plan_fold(inputs, leaves), sums_of(inputs)), reference_sum(0, leaves));
    }
  }
}

TEST(PlanFold, RejectsInputsThatDoNotTile) {
  EXPECT_TRUE(plan_fold({}, 0).program.empty());
  const std::vector<Node> gap{{0, 1}, {3, 0}};
  const std::vector<Node> beyond{{0, 1}, {2, 1}};
  const std::vector<Node> overlapping{{0, 1}, {0, 1}};
  EXPECT_THROW(plan_fold(gap, 4), Error);
  EXPECT_THROW(plan_fold(beyond, 3), Error);
  EXPECT_THROW(plan_fold(beyond, 2), Error);
  EXPECT_THROW(plan_fold(overlapping, 4), Error);
  EXPECT_THROW(plan_fold({}, 1), Error);
}

TEST(PlanMerge, MakesTheCoverFromFinerParts) {
  for (std::uint32_t begin = 0; begin < 16; ++begin) {
    for (std::uint32_t end = begin + 1; end <= 24; ++end) {
      for (std::uint32_t parts = 1; parts <= 4; ++parts) {
        const std::vector<Node> inputs = covers_of(partition(begin, end, parts));
        const std::vector<Merge> merges = plan_merge(inputs);
        const std::vector<Node> nodes = cover(begin, end);
        ASSERT_EQ(merges.size(), nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          EXPECT_EQ(merges[i].node, nodes[i]);
          EXPECT_EQ(run(merges[i].fold, sums_of(inputs)), reference_sum(nodes[i].begin, nodes[i].end()));
        }
      }
    }
  }
}

TEST(PlanMerge, OfNothingIsNothing) { EXPECT_TRUE(plan_merge({}).empty()); }

TEST(Partition, FollowsWeights) {
  const auto bounds = [](std::uint32_t leaves, std::vector<double> weights) {
    return partition(leaves, weights);
  };
  EXPECT_EQ(bounds(8, {1, 3}), (std::vector<std::uint32_t>{0, 2, 8}));
  EXPECT_EQ(bounds(8, {1, 1, 1}), (std::vector<std::uint32_t>{0, 3, 5, 8}));
  EXPECT_EQ(bounds(4, {1, 100}), (std::vector<std::uint32_t>{0, 0, 4}));
  EXPECT_EQ(bounds(4, {0, 1, 0}), (std::vector<std::uint32_t>{0, 0, 4, 4}));
  EXPECT_EQ(bounds(7, {0.1, 0.2, 0.7}), (std::vector<std::uint32_t>{0, 1, 2, 7}));
}

}  // namespace
}  // namespace lockstep
