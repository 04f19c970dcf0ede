// Compares sums of the GPU kernels with the CPU's, bit by bit.
#include "gradient/cuda/fold.h"

#include <gtest/gtest.h>

#include <random>

#include "gradient/block_fold.h"
#include "gradient/gradients.h"
#include "lockstep/error.h"
#include "support/device_array.h"
#include "support/expect_error.h"

namespace lockstep::cuda {
namespace {

using lockstep::test::DeviceArray;
using lockstep::test::run_kernels;

constexpr std::size_t elements = 272;

/// Partial sums of ranks as they arrive at the owner of a slice: on the host and on the device.
struct Inputs {
  std::vector<Node> nodes;
  std::vector<AlignedFloats> arenas;
  std::vector<DeviceArray<float>> copies;
  std::vector<const float*> addresses;

  /// Addresses of element `begin` in each copy.
  std::vector<const float*> copies_at(std::size_t begin) const {
    std::vector<const float*> all;
    for (const auto& copy : copies) all.push_back(copy.data() + begin);
    return all;
  }
};

Inputs partials(Device& device, std::uint32_t leaves, std::uint32_t parts) {
  Inputs inputs;
  const auto bounds = partition(leaves, parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    for (const Node& node : cover(bounds[part], bounds[part + 1])) inputs.nodes.push_back(node);
  }
  for (std::uint32_t i = 0; i < inputs.nodes.size(); ++i) {
    std::vector<float> values(elements);
    for (std::size_t e = 0; e < elements; ++e) values[e] = gradient(i, e);
    inputs.arenas.emplace_back(elements);
    std::ranges::copy(values, inputs.arenas.back().data());
    inputs.copies.emplace_back(device, values);
  }
  for (AlignedFloats& arena : inputs.arenas) inputs.addresses.push_back(arena.data());
  return inputs;
}

struct Range {
  std::size_t begin, count;
};
constexpr Range ranges[] = {{0, elements}, {16, 128}, {16, 127}, {3, 8}, {271, 1}, {7, 0}};

class FoldKernel : public ::testing::Test {
 protected:
  /// Elements of `range` of the kernels' sum, starting at index 0.
  std::vector<float> sum(const Fold& plan, const Inputs& inputs, const Range& range) {
    const DeviceArray<float> output(*device_, std::vector<float>(elements, -1.0F));
    run_kernels(*device_, [&](StreamHandle stream) {
      fold(stream, plan.program, inputs.copies_at(range.begin), range.count, output.data());
    });
    return output.fetch();
  }
  static std::vector<float> expected(const Fold& plan, const Inputs& inputs, const Range& range) {
    BlockFold block;
    block.reserve(plan);
    std::vector<float> result(elements, -1.0F);
    std::copy_n(block.sum(plan, inputs.addresses, range.begin, range.count), range.count, result.begin());
    return result;
  }

  std::unique_ptr<Device> device_ = make_cuda_device();
};

TEST_F(FoldKernel, HasTheBitsOfTheCpusFold) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const auto leaves = static_cast<std::uint32_t>(1 + random() % 120);
    const auto parts = static_cast<std::uint32_t>(1 + random() % leaves);
    const Inputs inputs = partials(*device_, leaves, parts);
    const Fold plan = plan_fold(inputs.nodes, leaves);
    for (const Range& range : ranges) {
      EXPECT_EQ(sum(plan, inputs, range), expected(plan, inputs, range))
          << leaves << " leaves, " << parts << " parts, elements from " << range.begin;
    }
  }
}

TEST_F(FoldKernel, MayWriteToAnInput) {
  for (const Range range : {Range{0, elements}, Range{5, 100}}) {
    const Inputs inputs = partials(*device_, 11, 7);
    const Fold plan = plan_fold(inputs.nodes, 11);
    std::vector<float> result = expected(plan, inputs, range);
    result.resize(range.count);
    run_kernels(*device_, [&](StreamHandle stream) {
      fold(stream, plan.program, inputs.copies_at(range.begin), range.count,
           inputs.copies[2].data() + range.begin);
    });
    const std::vector<float> written = inputs.copies[2].fetch();
    EXPECT_TRUE(std::equal(result.begin(), result.end(), written.begin() + static_cast<long>(range.begin)));
  }
}

TEST_F(FoldKernel, OfNothingIsZero) {
  std::vector<float> expected(elements, 0.0F);
  expected.back() = -1.0F;
  EXPECT_EQ(sum(plan_fold({}, 0), {}, {0, elements - 1}), expected);
}

TEST_F(FoldKernel, RefusesMoreInputsThanTravelWithIt) {
  const std::vector<const float*> inputs(most_inputs + 1);
  expect_error(Category::usage,
               {"micro-batches: 1025 partial sums", "use fewer micro-batches or fewer ranks"},
               [&] { fold(nullptr, std::vector<std::int32_t>(1), inputs, 16, nullptr); });
}

TEST_F(FoldKernel, AddsOfAnyLengthFromAnyAddress) {
  for (const Range& range : ranges) {
    const std::size_t begin = range.begin, count = range.count;
    const Inputs inputs = partials(*device_, 2, 2);
    run_kernels(*device_, [&](StreamHandle stream) {
      add(stream, inputs.copies[0].data() + begin, inputs.copies[1].data() + begin, count);
    });
    const std::vector<float> sums = inputs.copies[0].fetch();
    for (std::size_t e = 0; e < elements; ++e) {
      const bool inside = e >= begin && e < begin + count;
      EXPECT_EQ(sums[e], inside ? gradient(0, e) + gradient(1, e) : gradient(0, e));
    }
  }
}

}  // namespace
}  // namespace lockstep::cuda
