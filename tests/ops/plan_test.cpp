// Backward passes of whole networks, with and without frozen parameters.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "lanes.h"
#include "lockstep/models.h"
#include "ops/cpu/cpu_plan.h"
#include "support/host_micro_batch.h"

namespace lockstep::testing {
namespace {

constexpr int samples = 18;

/// Gradients of one micro-batch of noise; memory is NaN before. `again`: called afterwards.
using Again = std::function<void(const cpu::CpuPlan& plan, const MicroBatch& batch, const float* parameters,
                                 float* gradients, std::byte* workspace)>;
std::vector<float> gradients_of(const Network& network, const Graph& graph, const std::vector<bool>& frozen,
                                const Again& again = {}) {
  const ArenaLayout layout = layout_arena(network.parameters());
  const Shape shape = network.input_shape();
  const cpu::CpuPlan plan(graph, layout,
                          {.samples = samples, .frozen = frozen, .nodes_apart = again != nullptr},
                          cpu::best_level());
  Lanes parameters(layout.elements);
  std::fill_n(parameters.data(), parameters.size(), 0.0F);
  initialize_parameters(network.parameters(), layout, 1, parameters.data());
  std::mt19937 generator(3);
  const HostMicroBatch noise(samples);
  std::vector<std::uint8_t> pixels(shape.size() * samples);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(generator());
  for (std::size_t i = 0; i < samples; ++i) {
    noise.batch.samples[i] = reinterpret_cast<const std::byte*>(pixels.data() + i * shape.size());
    noise.batch.labels[i] = static_cast<std::int32_t>(i) % network.classes();
    noise.batch.ids[i] = i;
  }
  Lanes workspace(plan.workspace_bytes() / sizeof(float));
  auto* bytes = reinterpret_cast<std::byte*>(workspace.data());
  Lanes gradients(layout.elements);
  plan.load(noise.batch, {.shape = shape}, bytes);
  LeafResult result;
  plan.forward(noise.batch, plan.all_and_loss(), parameters.data(), &result, bytes);
  plan.backward(noise.batch, plan.all(), parameters.data(), gradients.data(), bytes);
  if (again) again(plan, noise.batch, parameters.data(), gradients.data(), bytes);
  return {gradients.data(), gradients.data() + gradients.size()};
}

std::vector<float> gradients_of(const Network& network, const std::vector<bool>& frozen,
                                const Again& again = {}) {
  return gradients_of(network, build_graph(network), frozen, again);
}

/// Expects that freezing the first parameters changes no other gradients; theirs are unchanged or zero.
void expect_same_gradients(const Network& network) {
  const std::vector<Parameter>& parameters = network.parameters();
  const ArenaLayout layout = layout_arena(parameters);
  const std::vector<float> expected = gradients_of(network, {});
  for (std::size_t count = 1; count < parameters.size(); count += 1 + parameters.size() / 10) {
    std::vector<bool> frozen(parameters.size(), false);
    std::fill_n(frozen.begin(), count, true);
    const std::vector<float> gradients = gradients_of(network, frozen);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::size_t begin = layout.offsets[i];
      const std::size_t size = parameters[i].size();
      const bool same = std::memcmp(&gradients[begin], &expected[begin], size * sizeof(float)) == 0;
      if (i >= count) {
        EXPECT_TRUE(same) << parameters[i].name << " with " << count << " frozen";
      } else if (!same) {
        EXPECT_EQ(gradients[begin], 0.0F) << parameters[i].name << " with " << count << " frozen";
      }
    }
  }
}

TEST(Plan, FrozenParametersChangeNoOtherGradients) {
  expect_same_gradients(*make_model("lenet", {1, 28, 28}, 10));
  expect_same_gradients(*make_model("resnet20", {3, 16, 16}, 10));
  Network network({3, 12, 12});
  Value x = relu(conv2d(network.input(), {.channels = 16, .kernel = 3, .padding = 1}));
  x = concat({x, conv2d(x, {.channels = 16, .kernel = 3, .padding = 1, .groups = 16})});
  x = conv2d(x, {.channels = 16, .kernel = 3, .padding = 1});
  x = dropout(x + conv2d(x, {.channels = 16, .kernel = 1}), 0.5);
  network.output(linear(flatten(max_pool2d(x, {.kernel = 2})), 4));
  expect_same_gradients(network);
}

/// The gradient that would be computed is rounding errors.
TEST(Plan, BiasBeforeBatchNormHasTheGradientZero) {
  Network network({3, 12, 12});
  Value x = network.input();
  // One for each kernel of the gradient of a bias.
  x = relu(batch_norm2d(conv2d(x, {.channels = 16, .kernel = 5, .padding = 2, .name = "direct"})));
  x = relu(batch_norm2d(conv2d(x, {.channels = 32, .kernel = 3, .padding = 1, .name = "winograd"})));
  x = relu(batch_norm2d(
      conv2d(x, {.channels = 32, .kernel = 3, .padding = 1, .groups = 32, .name = "depthwise"})));
  x = relu(
      batch_norm2d(conv2d(x, {.channels = 32, .kernel = 3, .padding = 1, .groups = 2, .name = "grouped"})));
  x = relu(batch_norm2d(conv2d(x, {.channels = 32, .kernel = 1, .name = "flat"})));
  x = relu(batch_norm2d(linear(flatten(x), Linear{.features = 8, .name = "linear"})));
  network.output(linear(x, Linear{.features = 4, .name = "logits"}));
  Graph computed = build_graph(network);
  for (GraphNode& node : computed.nodes) node.zero_bias_gradient = false;
  const std::vector<float> expected = gradients_of(network, computed, {});
  const std::vector<float> actual = gradients_of(network, {});
  const ArenaLayout layout = layout_arena(network.parameters());
  std::set<std::string> zeros;
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    const Parameter& parameter = network.parameters()[p];
    const auto part_of = [&](const std::vector<float>& arena) {
      const auto begin = arena.begin() + static_cast<std::ptrdiff_t>(layout.offsets[p]);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(parameter.size()));
    };
    const std::vector<float> part = part_of(actual), computed_part = part_of(expected);
    if (part == computed_part) continue;
    zeros.insert(parameter.name);
    EXPECT_EQ(part, std::vector<float>(parameter.size(), 0.0F)) << parameter.name;
    for (const float value : computed_part) EXPECT_NEAR(value, 0.0F, 1e-4F) << parameter.name;
  }
  EXPECT_EQ(zeros, (std::set<std::string>{"direct.bias", "winograd.bias", "depthwise.bias", "grouped.bias",
                                          "flat.bias", "linear.bias"}));
}

/// A network in which no node adds to the output of another, so that nodes can run in any order.
TEST(Plan, NodesRunAloneAndAgain) {
  Network network({3, 12, 12});
  Value x = batch_norm2d(conv2d(network.input(), {.channels = 16, .kernel = 3, .padding = 1}));
  x = dropout(max_pool2d(relu6(x), {.kernel = 2}), 0.5);
  network.output(linear(relu(linear(flatten(x), 20)), 4));
  const auto nodes = build_graph(network).nodes.size();
  const Again again = [&](const cpu::CpuPlan& plan, const MicroBatch& batch, const float* parameters,
                          float* gradients, std::byte* workspace) {
    std::fill_n(gradients, layout_arena(network.parameters()).elements, 0.0F);
    LeafResult result;
    for (std::size_t i = nodes; i-- > 1;) {
      plan.forward(batch, {i, i + 1}, parameters, nullptr, workspace);
    }
    plan.forward(batch, {nodes, nodes + 1}, parameters, &result, workspace);
    EXPECT_GT(result.loss, 0.0);
    for (std::size_t i = 1; i < nodes; ++i) {
      for (int k = 0; k < 2; ++k) plan.backward(batch, {i, i + 1}, parameters, gradients, workspace);
    }
  };
  const std::vector<float> expected = gradients_of(network, {}), alone = gradients_of(network, {}, again);
  const ArenaLayout layout = layout_arena(network.parameters());
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    const Parameter& parameter = network.parameters()[i];
    EXPECT_TRUE(std::equal(&alone[layout.offsets[i]], &alone[layout.offsets[i]] + parameter.size(),
                           &expected[layout.offsets[i]]))
        << parameter.name;
  }
}

/// Shown by the memory: nothing is saved for nodes without backward.
TEST(Plan, BackwardEndsWhereEverythingBeforeIsFrozen) {
  const auto network = make_model("resnet20", {3, 32, 32}, 10);
  const ArenaLayout layout = layout_arena(network->parameters());
  std::vector<bool> all_but_head(network->parameters().size(), true);
  all_but_head.back() = false;
  const auto bytes = [&](const std::vector<bool>& frozen) {
    return cpu::CpuPlan(build_graph(*network), layout, {.samples = 16, .frozen = frozen}, cpu::best_level())
        .workspace_bytes();
  };
  EXPECT_LT(2 * bytes(all_but_head), bytes({}));
}

/// A network with 2^24 paths through layers without parameters.
TEST(Plan, ManyPathsTakeNoTime) {
  Network network({1, 8, 8});
  Value x = network.input();
  for (int i = 0; i < 24; ++i) x = x + x;
  network.output(flatten(adaptive_avg_pool2d(x)));
  const std::vector<float> gradients = gradients_of(network, {});
  EXPECT_TRUE(gradients.empty());
}

}  // namespace
}  // namespace lockstep::testing
