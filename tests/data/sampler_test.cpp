#include "lockstep/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace lockstep {
namespace {

void expect_permutation(std::uint64_t size) {
  const Permutation order(size, size * 31, static_cast<std::uint32_t>(size % 7));
  std::vector<bool> seen(size, false);
  for (std::uint64_t position = 0; position < size; ++position) {
    const std::uint64_t id = order(position);
    ASSERT_TRUE(id < size && !seen[id]) << "size " << size << ", position " << position;
    seen[id] = true;
  }
}

/// The Feistel network depends on the next power of four. For sizes with the same one, the size only decides
/// which values cycle walking skips.
TEST(Permutation, VisitsEachIdOnce) {
  for (std::uint64_t size = 1; size <= 1100; ++size) expect_permutation(size);
  for (std::uint64_t power = 4096; power <= 262144; power *= 4) {
    for (const std::uint64_t size : {power / 3, power - 1, power, power + 1}) expect_permutation(size);
  }
}

TEST(Permutation, StaysInRangeForLargeSizes) {
  for (const std::uint64_t size : {1ULL << 32, (1ULL << 40) - 1, (1ULL << 63) + 1, ~0ULL}) {
    const Permutation order(size, 3, 0);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      EXPECT_LT(order(size - 1 - i), size);
    }
  }
}

int equal_positions(const Permutation& a, const Permutation& b, std::uint64_t size) {
  int equal = 0;
  for (std::uint64_t position = 0; position < size; ++position) {
    equal += a(position) == b(position) ? 1 : 0;
  }
  return equal;
}

TEST(Permutation, SeedAndEpochChangeTheOrder) {
  const Permutation order(60000, 1, 0);
  EXPECT_EQ(equal_positions(order, Permutation(60000, 1, 0), 60000), 60000);
  // Independent orders agree in one position on average (Poisson).
  EXPECT_LE(equal_positions(order, Permutation(60000, 1, 1), 60000), 10);
  EXPECT_LE(equal_positions(order, Permutation(60000, 2, 0), 60000), 10);
  EXPECT_LE(equal_positions(order, Permutation(60000, 1ULL << 32 | 1, 0), 60000), 10);
}

/// Chi-square statistic of `counts` against equal numbers, in standard deviations from its mean.
double deviation(std::span<const double> counts) {
  const auto cells = static_cast<double>(counts.size());
  const double expected = std::accumulate(counts.begin(), counts.end(), 0.0) / cells;
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  return (chi_square - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

TEST(Permutation, IsUniformOverSeeds) {
  for (const std::uint64_t size : {11U, 60U, 100U}) {
    std::vector<double> last(size);
    std::vector<double> pairs(size * (size - 1));  // ids of positions 0 and 1
    for (std::uint64_t seed = 0; seed < 50000; ++seed) {
      const Permutation order(size, seed, 0);
      const std::uint64_t second = order(1);
      last[order(size - 1)] += 1;
      pairs[order(0) * (size - 1) + (second > order(0) ? second - 1 : second)] += 1;
    }
    EXPECT_LT(deviation(last), 5) << size;
    EXPECT_LT(deviation(pairs), 5) << size;
  }
}

// The order affects the results of every run, so these values must never change.
TEST(Permutation, GoldenOrder) {
  struct Golden {
    std::uint64_t size, seed;
    std::uint32_t epoch;
    std::array<std::uint64_t, 8> first;
    std::uint64_t last;
  };
  const std::vector<Golden> golden = {
      {60000, 0, 0, {26629, 19142, 8953, 31830, 39416, 13024, 9942, 52411}, 19274},
      {60000, 1, 3, {1258, 55598, 32465, 37167, 50469, 21245, 4586, 36900}, 52759},
      {10, 42, 1, {2, 6, 9, 5, 1, 7, 0, 3}, 8},
      {1ULL << 40,
       7,
       2,
       {260301124415, 17199651775, 872839501972, 338739422971, 332015536396, 241519526881, 269751390897,
        439997793702},
       487338654325},
  };
  for (const Golden& row : golden) {
    const Permutation order(row.size, row.seed, row.epoch);
    for (std::size_t position = 0; position < row.first.size(); ++position) {
      EXPECT_EQ(order(position), row.first[position]);
    }
    EXPECT_EQ(order(row.size - 1), row.last);
  }
}

VisitSum sum_of(std::initializer_list<std::uint64_t> ids) {
  VisitSum sum;
  for (const std::uint64_t id : ids) {
    sum.add(id);
  }
  return sum;
}

TEST(VisitSum, AnEpochGivesTheExpectedSumHoweverItIsSplit) {
  const Permutation order(1000, 9, 4);
  VisitSum first;
  VisitSum second;
  for (std::uint64_t position = 0; position < 1000; ++position) {
    (position % 3 == 0 ? first : second).add(order(position));
  }
  second.add(first);
  EXPECT_EQ(second, VisitSum::expected(1000));
  EXPECT_EQ(VisitSum::from_words(second.words()), second);
}

TEST(VisitSum, NoticesMissingAndRepeatedIds) {
  EXPECT_EQ(sum_of({2, 0, 1}), VisitSum::expected(3));
  EXPECT_NE(sum_of({0, 1}), VisitSum::expected(3));
  EXPECT_NE(sum_of({0, 1, 1}), VisitSum::expected(3));
  EXPECT_NE(sum_of({0, 1, 2, 2}), VisitSum::expected(3));
  EXPECT_NE(sum_of({0, 0, 3}), VisitSum::expected(3));
}

TEST(VisitSum, ContentsCountWithTheirIds) {
  const std::vector<std::uint8_t> one = {1, 2}, other = {1, 3};
  const auto sum = [](const std::vector<std::uint8_t>& first, const std::vector<std::uint8_t>& second) {
    VisitSum result;
    result.add(1, second);
    result.add(0, first);
    return result;
  };
  EXPECT_EQ(sum(one, other), sum(one, other));
  EXPECT_NE(sum(one, other), sum(other, one));
  EXPECT_NE(sum(one, other), sum(one, one));
}

TEST(VisitSum, SinceUndoesAdding) {
  const VisitSum before = VisitSum::from_words({~0ULL, ~0ULL});
  VisitSum after = before;
  after.add(VisitSum::from_words({5, 7}));
  EXPECT_EQ(after.since(before).words(), (std::array<std::uint64_t, 2>{5, 7}));
}

// The sum is stored in checkpoints, so this value must never change.
TEST(VisitSum, GoldenSum) {
  EXPECT_EQ(VisitSum::expected(60000).words(),
            (std::array<std::uint64_t, 2>{0x75a6989644c16ae4, 0x35776b1df8aa616f}));
}

}  // namespace
}  // namespace lockstep
