#include "ops/cpu/convolution/conv2d.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/cpu/convolution/kernels/winograd.h"
#include "ops/lanes.h"
#include "ops/op_case.h"

namespace lockstep::test {
namespace {

bool suits(const OpCase& op_case) {
  return cpu::suits_winograd({.node = op_case.node,
                              .inputs = op_case.inputs,
                              .samples = 32,
                              .training = true,
                              .input_gradient = true,
                              .level = cpu::best_level()});
}

TEST(Winograd, IsChosenByShape) {
  EXPECT_TRUE(suits(conv_case("", {64, 28, 28}, 64, {.padding = 1})));
  EXPECT_TRUE(suits(conv_case("", {512, 4, 4}, 512, {.padding = 1, .relu = true})));
  EXPECT_TRUE(suits(conv_case("", {256, 7, 7}, 256, {.padding = 2})));
  EXPECT_TRUE(suits(conv_case("", {16, 6, 6}, 17, {})));
  EXPECT_FALSE(suits(conv_case("", {1, 26, 26}, 20, {}))) << "LeNet's first layer";
  EXPECT_FALSE(suits(conv_case("", {20, 12, 12}, 50, {.kernel = 5}))) << "LeNet's second layer";
  EXPECT_FALSE(suits(conv_case("", {64, 28, 28}, 15, {.padding = 1})));
  EXPECT_FALSE(suits(conv_case("", {64, 28, 28}, 64, {.padding = 3})));
  EXPECT_FALSE(suits(conv_case("", {64, 28, 28}, 64, {.stride = 2, .padding = 1})));
  EXPECT_FALSE(suits(conv_case("", {64, 28, 28}, 64, {.padding = 1, .relu = true, .pool = 2})));
  EXPECT_FALSE(suits(conv_case("", {64, 5, 5}, 64, {.padding = 1}))) << "25 outputs in 4 tiles";
}

constexpr cpu::WinogradShape shape{.in_channels = 35,
                                   .in_height = 9,
                                   .in_width = 6,
                                   .out_channels = 50,
                                   .out_height = 9,
                                   .out_width = 6,
                                   .padding = 1};
constexpr int groups = 2;

Lanes random_lanes(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  Lanes lanes(count);
  for (std::size_t i = 0; i < count; ++i) {
    lanes.data()[i] = static_cast<float>(generator()) / 4294967296.0F - 0.5F;
  }
  return lanes;
}

struct Results {
  Lanes output{std::size_t{50} * 9 * 6 * 16 * groups};
  Lanes grad_weight{std::size_t{50} * 35 * 9};
  Lanes grad_bias{50};
};

Results run(cpu::Level level, const cpu::WinogradBlocks& blocks, const float* bias) {
  const cpu::WinogradKernels& kernels = cpu::winograd_kernels(level);
  const Lanes input = random_lanes(std::size_t{35} * 9 * 6 * 16 * groups, 1);
  const Lanes weight = random_lanes(std::size_t{50} * 35 * 9, 2);
  Results results;
  Lanes scratch(kernels.conv_scratch(shape, blocks));
  kernels.conv({.shape = shape,
                .blocks = blocks,
                .groups = groups,
                .input = input.data(),
                .input_masks = nullptr,
                .weight = weight.data(),
                .transposed = false,
                .bias = bias,
                .output = results.output.data(),
                .output_masks = nullptr,
                .scratch = scratch.data()});
  EXPECT_TRUE(scratch.end_intact());
  Lanes more_scratch(kernels.backward_weights_scratch(shape, blocks));
  kernels.backward_weights({.shape = shape,
                            .blocks = blocks,
                            .groups = groups,
                            .input = input.data(),
                            .grad_output = results.output.data(),
                            .masks = nullptr,
                            .grad_weight = results.grad_weight.data(),
                            .grad_bias = results.grad_bias.data(),
                            .scratch = more_scratch.data()});
  EXPECT_TRUE(more_scratch.end_intact());
  return results;
}

TEST(Winograd, BlocksChangeNoBits) {
  const Lanes bias = random_lanes(50, 3);
  const cpu::WinogradBlocks all{.tiles = 12, .outputs = 64, .channels = 35, .keep_filters = true};
  const Results expected = run(cpu::available_levels().front(), all, bias.data());
  for (const cpu::Level level : cpu::available_levels()) {
    for (const int tiles : {1, 2, 3, 4, 5, 7, 12}) {
      for (const int outputs : {16, 32, 64}) {
        for (const int channels : {1, 16, 35}) {
          const Results results =
              run(level, {tiles, outputs, channels, (tiles + outputs / 16) % 2 == 0}, bias.data());
          const std::string where = std::string(cpu::level_name(level)) + ", " + std::to_string(tiles) +
                                    " tiles, " + std::to_string(outputs) + " x " + std::to_string(channels) +
                                    " channels";
          EXPECT_TRUE(results.output.same_bits(expected.output)) << where;
          EXPECT_TRUE(results.grad_weight.same_bits(expected.grad_weight)) << where;
          EXPECT_TRUE(results.grad_bias.same_bits(expected.grad_bias)) << where;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
