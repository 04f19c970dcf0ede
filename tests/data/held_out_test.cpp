#include "data/sets/held_out.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random/hash_integer.h"

namespace lockstep {
namespace {

/// Number of samples held out from each class, for classes of these sizes.
std::vector<int> counts(const std::vector<int>& sizes, double fraction) {
  std::vector<int> labels;
  std::vector<std::uint64_t> keys;
  for (std::size_t label = 0; label < sizes.size(); ++label)
    labels.insert(labels.end(), static_cast<std::size_t>(sizes[label]), static_cast<int>(label));
  for (std::size_t i = 0; i < labels.size(); ++i) keys.push_back(hash_integer(i).low);
  const std::vector<bool> result = held_out(labels, keys, fraction);
  std::vector<int> counts(sizes.size());
  for (std::size_t i = 0; i < labels.size(); ++i)
    counts[static_cast<std::size_t>(labels[i])] += result[i] ? 1 : 0;
  return counts;
}

TEST(HeldOut, EachClassHasItsShare) {
  struct Row {
    std::vector<int> sizes;
    double fraction;
    std::vector<int> held_out;
  };
  const std::vector<Row> rows = {{{100, 50, 10}, 0.2, {20, 10, 2}},
                                 {{45, 45}, 0.2, {9, 9}},
                                 {{50, 50, 50}, 0.25, {13, 12, 13}},  // 37.5 in total
                                 {{4, 4, 4, 4, 4}, 0.1, {0, 1, 0, 1, 0}},
                                 {{1, 100, 1}, 0.5, {0, 51, 0}},
                                 {{1, 1, 1, 1, 10}, 0.5, {0, 0, 0, 0, 6}},
                                 {{3, 200}, 0.999, {2, 199}},
                                 {{7}, 0.0, {0}},
                                 {{}, 0.5, {}}};
  for (const Row& row : rows) {
    EXPECT_EQ(counts(row.sizes, row.fraction), row.held_out)
        << testing::PrintToString(row.sizes) << row.fraction;
  }
}

TEST(HeldOut, ThoseWithTheSmallestKeys) {
  EXPECT_EQ(held_out(std::vector{0, 1, 0, 1, 0, 1}, std::vector<std::uint64_t>{5, 1, 4, 3, 6, 2}, 0.34),
            (std::vector<bool>{false, true, true, false, false, false}));
  EXPECT_EQ(held_out(std::vector{0, 0, 0, 0}, std::vector<std::uint64_t>{7, 7, 7, 7}, 0.5),
            (std::vector<bool>{true, true, false, false}));
}

/// Labels may be in any order: the choice depends on the samples, not on their positions.
TEST(HeldOut, DoesNotDependOnTheOrderOfTheSamples) {
  std::vector<int> labels;
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 100; ++i) {
    labels.push_back(static_cast<int>(i % 3));
    keys.push_back(hash_integer(i).low);
  }
  const std::vector<bool> there = held_out(labels, keys, 0.3);
  std::ranges::reverse(labels);
  std::ranges::reverse(keys);
  std::vector<bool> back = held_out(labels, keys, 0.3);
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(back, there);
}

TEST(HeldOut, SamplesCountForTheRarestOfTheirLabels) {
  const std::vector<float> targets = {1, 1, 0,  //
                                      1, 0, 0,  //
                                      0, 1, 1,  //
                                      1, 0, 1,  //
                                      0, 0, 0};
  EXPECT_EQ(rarest_labels(targets, 3), (std::vector{1, 0, 1, 2, 3}));  // the labels have 3, 2 and 2 samples
  EXPECT_EQ(rarest_labels({}, 3), std::vector<int>());
}

}  // namespace
}  // namespace lockstep
