// Sums of the GPU's kernels against the CPU's, bit by bit.
#include "reduce/cuda/fold.h"

#include <gtest/gtest.h>

#include <random>

#include "reduce/block_fold.h"
#include "reduce/gradients.h"

namespace lockstep::cuda {
namespace {

constexpr std::size_t elements = 1040;

/// Partial sums of ranks as they come to the owner of a slice.
struct Inputs {
  std::vector<Node> nodes;
  std::vector<AlignedFloats> arenas;
  std::vector<const float*> addresses;
};

Inputs random_inputs(std::uint32_t leaves, std::uint32_t parts) {
  Inputs inputs;
  const auto bounds = partition(leaves, parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    for (const Node& node : cover(bounds[part], bounds[part + 1])) inputs.nodes.push_back(node);
  }
  for (std::uint32_t i = 0; i < inputs.nodes.size(); ++i) {
    inputs.arenas.emplace_back(elements);
    for (std::size_t e = 0; e < elements; ++e) inputs.arenas.back().data()[e] = gradient(i, e);
  }
  for (AlignedFloats& arena : inputs.arenas) inputs.addresses.push_back(arena.data());
  return inputs;
}

struct Range {
  std::size_t begin, count;
};
constexpr Range ranges[] = {{0, elements}, {16, 512}, {16, 511}, {3, 8}, {1039, 1}, {7, 0}};

TEST(FoldKernel, HasTheBitsOfTheCpusFold) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const auto leaves = static_cast<std::uint32_t>(1 + random() % 1000);
    const auto parts = static_cast<std::uint32_t>(1 + random() % leaves);
    const Inputs inputs = random_inputs(leaves, parts);
    const Fold plan = plan_fold(inputs.nodes, leaves);
    BlockFold expected(plan);
    for (const auto& [begin, count] : ranges) {
      AlignedFloats output(elements);
      fold(nullptr, plan.program, inputs.addresses, begin, count, output.data());
      const float* sum = expected.sum(inputs.addresses, begin, count);
      EXPECT_TRUE(std::equal(sum, sum + count, output.data())) << leaves << " leaves, " << parts << " parts";
    }
  }
}

TEST(FoldKernel, OfLeavesHasTheOrderOfTheTree) {
  for (const std::uint32_t leaves : {1U, 2U, 3U, 7U, 64U, 255U}) {
    const Inputs inputs = random_inputs(leaves, leaves);
    const Fold plan = plan_fold(inputs.nodes, leaves);
    AlignedFloats output(elements);
    fold(nullptr, plan.program, inputs.addresses, 0, elements, output.data());
    for (std::size_t e = 0; e < elements; ++e) ASSERT_EQ(output.data()[e], reference_sum(0, leaves, e));
  }
}

TEST(FoldKernel, MayWriteToAnInput) {
  for (const Range range : {Range{0, elements}, Range{5, 100}}) {
    Inputs inputs = random_inputs(11, 7);
    const Fold plan = plan_fold(inputs.nodes, 11);
    BlockFold expected(plan);
    const float* sum = expected.sum(inputs.addresses, range.begin, range.count);
    const std::vector<float> sums(sum, sum + range.count);
    float* output = inputs.arenas[2].data() + range.begin;
    fold(nullptr, plan.program, inputs.addresses, range.begin, range.count, output);
    EXPECT_EQ(std::vector<float>(output, output + range.count), sums);
  }
}

TEST(FoldKernel, OfNothingIsZero) {
  AlignedFloats output(elements);
  std::fill_n(output.data(), elements, 1.0F);
  fold(nullptr, {}, {}, 0, elements - 1, output.data());
  EXPECT_EQ(std::count(output.data(), output.data() + elements, 0.0F), elements - 1);
}

TEST(AddKernel, AddsOfAnyLengthFromAnyAddress) {
  for (const auto& [begin, count] : ranges) {
    Inputs inputs = random_inputs(2, 2);
    add(nullptr, inputs.arenas[0].data() + begin, inputs.arenas[1].data() + begin, count);
    for (std::size_t e = 0; e < elements; ++e) {
      const bool inside = e >= begin && e < begin + count;
      EXPECT_EQ(inputs.arenas[0].data()[e], inside ? gradient(0, e) + gradient(1, e) : gradient(0, e));
    }
  }
}

}  // namespace
}  // namespace lockstep::cuda
