#include "graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

void expect_no_overlap(const std::vector<Block>& blocks, const MemoryPlan& plan) {
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0U);
    EXPECT_LE(plan.offsets[a] + blocks[a].bytes, plan.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool same_time = blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last;
      const bool same_place = plan.offsets[a] < plan.offsets[b] + blocks[b].bytes &&
                              plan.offsets[b] < plan.offsets[a] + blocks[a].bytes;
      EXPECT_FALSE(same_time && same_place) << a << " and " << b;
    }
  }
}

TEST(MemoryPlan, ChainNeedsTwoNeighboursOnly) {
  const std::vector<Block> blocks{{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  const MemoryPlan plan = plan_memory(blocks);
  expect_no_overlap(blocks, plan);
  EXPECT_EQ(plan.bytes, 1280U);
}

TEST(MemoryPlan, RandomLivesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Block> blocks;
    for (int i = 0; i < 30; ++i) {
      const int first = static_cast<int>(random() % 20);
      blocks.push_back({random() % 5000, first, first + static_cast<int>(random() % 10)});
    }
    expect_no_overlap(blocks, plan_memory(blocks));
  }
}

}  // namespace
}  // namespace lockstep
