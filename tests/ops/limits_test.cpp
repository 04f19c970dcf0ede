#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "ops/cpu/cpu_plan.h"
#include "ops/cpu/level.h"
#include "ops/cpu/measure_limits.h"
#include "ops/thread_limits.h"

namespace lockstep::test {
namespace {

const ThreadLimits limits{.flop_per_s = 100e9,
                          .memory = {{"L1", 32'000, 200e9}, {"L2", 1'000'000, 50e9}, {"memory", 0, 10e9}}};

TEST(NearestLimit, IsOfTheArithmeticOrOfTheSmallestCacheThatHoldsTheData) {
  struct Case {
    Work work;
    const char* name;
    double seconds;
  };
  for (const Case& each :
       {Case{{1e6, 32'000}, "fma", 1e-5}, Case{{1e3, 32'000}, "L1", 1.6e-7},
        Case{{1e3, 33'000}, "L2", 6.6e-7}, Case{{1e6, 2e6}, "memory", 2e-4}, Case{{1e8, 2e6}, "fma", 1e-3},
        Case{{0.0, 1e6}, "L2", 2e-5}, Case{{1e8, 2e6, true}, "fma", 1e-3}}) {
    const NearestLimit nearest = nearest_limit(limits, each.work);
    EXPECT_EQ(nearest.name, each.name) << each.work.bytes;
    EXPECT_DOUBLE_EQ(nearest.seconds, each.seconds) << each.work.bytes;
  }
}

TEST(NearestLimit, IsThatOfBf16ForItsProducts) {
  ThreadLimits with_bf16 = limits;
  with_bf16.bf16_flop_per_s = 1000e9;
  EXPECT_EQ(nearest_limit(with_bf16, {1e6, 32'000, false}).name, "fma");
  EXPECT_EQ(nearest_limit(with_bf16, {1e6, 32'000, true}).name, "bf16");
  EXPECT_DOUBLE_EQ(nearest_limit(with_bf16, {1e6, 32'000, true}).seconds, 1e-6);
  EXPECT_EQ(nearest_limit(with_bf16, {1e6, 2e6, true}).name, "memory");
}

TEST(MeasureLimits, OfBf16WhereAnInstructionMultipliesIt) {
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  for (const cpu::Level level : cpu::available_levels()) {
    const ThreadLimits measured = cpu::measure_limits(level, *device);
    EXPECT_GT(measured.flop_per_s, 0.0);
    EXPECT_EQ(measured.bf16_flop_per_s.has_value(), level == cpu::Level::amx);
  }
}

TEST(Plan, KnowsWhichNodesMultiplyBf16) {
  Network network({16, 4, 4});
  const Value wide = conv2d(network.input(), {.channels = 16, .kernel = 1});
  const Value with_relu = relu(conv2d(wide, {.channels = 16, .kernel = 1}));
  network.output(flatten(conv2d(with_relu, {.channels = 8, .kernel = 1})));
  const Graph graph = build_graph(network);
  for (const DataType dtype : {DataType::fp32, DataType::bf16}) {
    const cpu::CpuPlan plan(graph, layout_arena(network.parameters()), {.samples = 16}, cpu::best_level(),
                            dtype);
    EXPECT_EQ(plan.multiplies_bf16(1), dtype == DataType::bf16);
    EXPECT_FALSE(plan.multiplies_bf16(2));  // with ReLU
    EXPECT_FALSE(plan.multiplies_bf16(3));  // fewer than 16 channels
  }
}

/// Bytes for 16 samples: input 3x4x4 3,072; output of the convolution and its gradient 8x4x4 8,192 each; ReLU
/// mask 256; output of the linear layer 320. Parameters: 216 + 8 floats in 240, and 640 + 5 floats in 656.
TEST(Traffic, CountsEachTensorOnce) {
  Network network({3, 4, 4});
  const Value x = relu(conv2d(network.input(), {.channels = 8, .kernel = 3, .padding = 1}));
  network.output(linear(flatten(x), 5));
  const Graph graph = build_graph(network);
  const cpu::CpuPlan plan(graph, layout_arena(network.parameters()), {.samples = 16}, cpu::best_level());
  const std::vector<NodeTraffic> traffic = plan.traffic();
  constexpr double image = 3 * 4 * 4 * 64, hidden = 8 * 4 * 4 * 64, mask = 8 * 4 * 4 * 2, out = 5 * 64;
  constexpr double filters = (224 + 16) * 4, matrix = (640 + 16) * 4;
  ASSERT_EQ(traffic.size(), 4U);
  EXPECT_EQ(traffic[1].forward, image + hidden + mask + filters);
  EXPECT_EQ(traffic[1].backward, image + hidden + mask + 2 * filters);  // the image needs no gradient
  EXPECT_EQ(traffic[3].forward, hidden + out + matrix);
  EXPECT_EQ(traffic[3].backward, 2 * hidden + out + 2 * matrix);
}

/// A chain moves only its inputs, its outputs and the inner values that backward needs.
TEST(Traffic, OfAChainIsThatOfItsLastNode) {
  Network network({8, 4, 4});
  const Value x = batch_norm2d(conv2d(network.input(), {.channels = 8, .kernel = 1}));
  const Value y = batch_norm2d(conv2d(x, {.channels = 8, .kernel = 3, .padding = 1, .groups = 8}));
  network.output(linear(flatten(y), 5));
  const Graph graph = build_graph(network);
  const ArenaLayout layout = layout_arena(network.parameters());
  const auto traffic = cpu::CpuPlan(graph, layout, {.samples = 16}, cpu::best_level()).traffic();
  const auto apart =
      cpu::CpuPlan(graph, layout, {.samples = 16, .nodes_apart = true}, cpu::best_level()).traffic();
  constexpr double value = 8 * 4 * 4 * 64;
  for (const auto direction : {&NodeTraffic::forward, &NodeTraffic::backward}) {
    EXPECT_EQ(traffic[2].*direction + traffic[3].*direction, 0.0);
    EXPECT_GT(traffic[4].*direction, 3 * value);
    EXPECT_LT(traffic[4].*direction, apart[2].*direction + apart[3].*direction + apart[4].*direction - value);
  }
}

}  // namespace
}  // namespace lockstep::test
