// The sum of a block of GPU threads, on as many threads of the host.
#include "device/cuda/block_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "device/cuda/launch.h"

namespace lockstep::cuda {
namespace {

/// Sums of two values, whose bits depend on the order of additions.
struct TwoSums {
  double first = 0.0;
  float second = 0.0F;
  float third = 0.0F;
  TwoSums& operator+=(const TwoSums& other) {
    first += other.first;
    second += other.second;
    third += other.third;
    return *this;
  }
  bool operator==(const TwoSums&) const = default;
};

/// One sum per thread. Magnitudes differ, so each addition rounds.
TwoSums sum_of_thread(std::size_t t) {
  const auto x = static_cast<double>(t * 2654435761U % 1000003);
  const double wide = x * x * 1e-3 + 1.0 / (1.0 + x);
  return {wide, static_cast<float>(wide), static_cast<float>(x) * 0.1F};
}

/// The row of those sums, in the order that for_each_row documents.
struct ThreadSums {
  using Sum = TwoSums;
  unsigned number_of_lanes;
  TwoSums* results;  ///< by lane
  unsigned lanes() const { return number_of_lanes; }
  unsigned place(std::size_t /*row*/, unsigned lane) const { return lane; }
  std::size_t terms(unsigned /*lane*/) const { return row_threads / number_of_lanes; }
  TwoSums term(unsigned lane, std::size_t k) const { return sum_of_thread(k * number_of_lanes + lane); }
  void finish(unsigned lane, const TwoSums& sum) const { results[lane] = sum; }
};

/// Shared memory and barriers of a block.
struct Block {
  std::vector<std::uint32_t> memory;
  std::barrier<> all{row_threads};
  std::vector<std::unique_ptr<std::barrier<>>> of_warps;
  std::array<std::uint32_t, row_threads> shuffled{};
  std::array<std::vector<unsigned>, row_threads> slots;  ///< accessed by each thread, in order

  explicit Block(unsigned words) : memory(words * block_sum_slots) {
    for (unsigned w = 0; w < row_threads / warp_threads; ++w) {
      of_warps.push_back(std::make_unique<std::barrier<>>(warp_threads));
    }
  }
};

struct HostThread {
  Block& block;
  unsigned t;

  unsigned number() const { return t; }
  void store(unsigned slot, std::uint32_t word) const {
    block.slots[t].push_back(slot);
    block.memory.at(slot) = word;
  }
  std::uint32_t load(unsigned slot) const {
    block.slots[t].push_back(slot);
    return block.memory.at(slot);
  }
  void wait() const { block.all.arrive_and_wait(); }
  std::uint32_t from_above(std::uint32_t word, unsigned apart) const {
    std::barrier<>& warp = *block.of_warps[t / warp_threads];
    block.shuffled[t] = word;
    warp.arrive_and_wait();
    const bool inside = t % warp_threads + apart < warp_threads;
    const std::uint32_t other = block.shuffled[inside ? t + apart : t];
    warp.arrive_and_wait();
    return other;
  }
};

std::array<TwoSums, row_threads> results_of_threads(Block& block, unsigned lanes) {
  std::array<TwoSums, row_threads> results;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < row_threads; ++t) {
    threads.emplace_back([&, t] {
      results[t] = add_over_block(sum_of_thread(t), lanes, HostThread{block, t});
    });
  }
  threads.clear();
  return results;
}

TEST(AddOverBlock, GivesTheBitsOfARow) {
  for (const unsigned lanes : {1U, 4U, max_row_lanes}) {
    std::vector<TwoSums> expected(lanes);
    for_each_row(nullptr, 1, ThreadSums{lanes, expected.data()});
    Block block(SumWords<TwoSums>::count);
    const auto results = results_of_threads(block, lanes);
    for (unsigned lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(results[lane], expected[lane]) << lanes << " lanes";
  }
}

TEST(AddOverBlock, HasNoBankConflicts) {
  Block block(SumWords<TwoSums>::count);
  results_of_threads(block, 1);
  for (unsigned first = 0; first < row_threads; first += warp_threads) {
    for (std::size_t access = 0; access < block.slots[first].size(); ++access) {
      std::vector<unsigned> banks;
      for (unsigned t = first; t < first + warp_threads; ++t) {
        ASSERT_EQ(block.slots[t].size(), block.slots[first].size());
        banks.push_back(block.slots[t][access] % 32);
      }
      std::ranges::sort(banks);
      EXPECT_EQ(std::adjacent_find(banks.begin(), banks.end()), banks.end())
          << "thread " << first << ", access " << access;
    }
  }
}

}  // namespace
}  // namespace lockstep::cuda
