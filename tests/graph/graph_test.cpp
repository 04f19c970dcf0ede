#include "graph/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "core/random/normal.h"
#include "core/random/philox.h"
#include "lockstep/models.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

const GraphNode& node_named(const Graph& graph, const std::string& name) {
  for (const GraphNode& node : graph.nodes) {
    if (node.name == name) {
      return node;
    }
  }
  throw std::out_of_range(name);
}

TEST(Graph, LenetFusesToFiveNodesAndComputesNoPixelThatPoolingDrops) {
  const auto network = make_model("lenet", {1, 28, 28}, 10);
  const Graph graph = build_graph(*network);
  ASSERT_EQ(graph.nodes.size(), 6U);  // input, conv1, conv2, flatten, fc1, fc2
  EXPECT_EQ(graph.nodes[0].shape, (Shape{1, 26, 26}));
  EXPECT_EQ(node_named(graph, "conv1").shape, (Shape{20, 12, 12}));
  EXPECT_EQ(node_named(graph, "conv2").shape, (Shape{50, 4, 4}));
  EXPECT_TRUE(node_named(graph, "conv1").epilogue.relu);
  EXPECT_EQ(node_named(graph, "conv1").epilogue.pool, 2);
  EXPECT_TRUE(node_named(graph, "fc1").epilogue.relu);
  EXPECT_FALSE(node_named(graph, "fc2").epilogue.relu);
  EXPECT_EQ(graph.output, 5);
}

TEST(Graph, MarksBiasesThatABatchNormTakesOut) {
  Network network({4, 8, 8});
  const auto conv = [](const Value& x, const char* name, bool bias = true) {
    return conv2d(x, {.channels = 4, .kernel = 3, .padding = 1, .bias = bias, .name = name});
  };
  Value x = batch_norm2d(conv(network.input(), "normalised"));
  x = batch_norm2d(conv(x, "without_bias", false));
  x = batch_norm2d(relu(conv(x, "relu_between")));
  const Value two = conv(x, "two_readers");
  x = batch_norm2d(two) + relu(two);
  const Value later = conv(x, "added_to_the_norm");
  x = batch_norm2d(conv(x, "normalised_before_addition")) + later;
  x = group_norm(conv(x, "group_norm"), {.groups = 2});
  x = avg_pool2d(conv(x, "pool_between"), {.kernel = 2});
  x = flatten(conv(batch_norm2d(x), "no_norm"));
  x = batch_norm2d(linear(x, Linear{.features = 8, .name = "linear"}));
  network.output(batch_norm2d(linear(x, Linear{.features = 10, .bias = false})));
  std::vector<std::string> marked;
  for (const GraphNode& node : build_graph(network).nodes) {
    if (node.zero_bias_gradient) marked.push_back(node.name);
  }
  EXPECT_EQ(marked, (std::vector<std::string>{"normalised", "normalised_before_addition", "linear"}));
}

TEST(Graph, ValueWithTwoReadersIsNotFusedAway) {
  Network network({4, 8, 8});
  const Value conv = conv2d(network.input(), {.channels = 4, .kernel = 3, .padding = 1});
  const Value sum = relu(conv) + conv;
  network.output(linear(flatten(sum), 10));
  const Graph graph = build_graph(network);
  EXPECT_FALSE(node_named(graph, "conv1").epilogue.relu);
  EXPECT_EQ(node_named(graph, "relu1").inputs, std::vector<int>{1});
  EXPECT_EQ(node_named(graph, "add1").inputs, (std::vector<int>{2, 1}));
}

TEST(Graph, PaddedConvolutionReadsItsWholeInput) {
  Network network({1, 9, 9});
  const Value inner = conv2d(network.input(), {.channels = 2, .kernel = 3, .padding = 1});
  const Value outer = conv2d(inner, {.channels = 2, .kernel = 3, .padding = 1});
  network.output(linear(flatten(avg_pool2d(outer, {.kernel = 2})), 3));
  const Graph graph = build_graph(network);
  EXPECT_EQ(node_named(graph, "conv1").shape, (Shape{2, 9, 9}));
  EXPECT_EQ(node_named(graph, "conv2").shape, (Shape{2, 4, 4}));
}

/// A convolution with fused pooling adds up each window in a single sum, which would lose digits for larger
/// windows.
TEST(Graph, FusesPoolingOfUpTo1024Pixels) {
  for (const int kernel : {32, 33}) {
    Network network({1, 66, 66});
    network.output(
        linear(flatten(avg_pool2d(conv2d(network.input(), {.channels = 2}), {.kernel = kernel})), 3));
    EXPECT_EQ(node_named(build_graph(network), "conv1").epilogue.pool, kernel == 32 ? 32 : 0);
  }
}

TEST(Graph, LayersThatNothingReadsAreOmitted) {
  Network network({1, 4, 4});
  const Value x = network.input();
  conv2d(x, {.channels = 3, .kernel = 3});
  network.output(linear(flatten(x), 2));
  EXPECT_EQ(build_graph(network).nodes.size(), 3U);
}

TEST(Network, MistakesNameTheLayer) {
  Network network({1, 4, 4});
  const auto expect = [](const std::string& message, const std::function<void()>& build) {
    expect_exact_error(Category::usage, message, build);
  };
  expect("layer conv1: a window of 5 does not fit into 4 pixels",
         [&] { conv2d(network.input(), {.channels = 1, .kernel = 5}); });
  expect("layer fc1: takes a vector, not 1x4x4: use flatten first", [&] { linear(network.input(), 5); });
  const Value conv = conv2d(network.input(), {.channels = 2, .name = "stem"});
  expect("layer add1: cannot add 2x4x4 and 1x4x4", [&] { conv + network.input(); });
  expect("layer stem: this name is taken by another layer",
         [&] { conv2d(conv, {.channels = 2, .name = "stem"}); });
  expect("layer a\xff: this name is not UTF-8", [&] { conv2d(conv, {.channels = 2, .name = "a\xff"}); });
  expect("layer sum: cannot add 2x4x4 and 1x4x4", [&] {
    network.add(Add{}, {conv, network.input()}, "sum");
  });
  Network other({1, 1, 1});
  expect("the output belongs to another network", [&] { network.output(other.input()); });
  const auto expect_unusable = [&](const Initializer& weight, const std::string& text) {
    expect("layer stem1: stem1.weight cannot begin as " + text + ": give a finite number of at least 0",
           [&] { conv2d(network.input(), {.channels = 2, .weight = weight, .name = "stem1"}); });
  };
  expect_unusable(Initializer::normal(NAN), "normal nan");
  expect_unusable(Initializer::normal(-1.0), "normal -1");
  expect_unusable(Initializer::uniform(-0.5), "uniform -0.5");
  expect_unusable(Initializer::uniform(INFINITY), "uniform inf");
  expect("the network has no output: call output(logits)", [&] { build_graph(network); });
}

TEST(Parameters, DoNotDependOnThreads) {
  Network network({1, 20, 20});
  const Value pixels = flatten(batch_norm2d(network.input(), {}));
  network.output(linear(pixels, {.features = 401, .weight = Initializer::normal(0.5)}));  // 160,400 weights
  const ArenaLayout layout = layout_arena(network.parameters());
  std::vector<float> alone(layout.elements, 7.0F);
  initialize_parameters(network.parameters(), layout, 7, alone.data());
  std::vector<float> shared(layout.elements, 9.0F);
  initialize_parameters(network.parameters(), layout, 7, shared.data(), [](const auto& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(alone, shared);

  constexpr std::uint32_t weight = 4,
                          element = 100'000;  // parameter, after the norm's four; not in its first piece
  const auto bits = philox(7, {static_cast<std::uint32_t>(Purpose::parameters), weight, element, 0});
  EXPECT_EQ(shared[layout.offsets[weight] + element], static_cast<float>(0.5 * normal(bits[0], bits[1])));
}

TEST(Parameters, DependOnSeedAndPositionOnly) {
  const auto network = make_model("lenet", {1, 28, 28}, 10);
  const ArenaLayout layout = layout_arena(network->parameters());
  std::vector<float> first(layout.elements);
  std::vector<float> again(layout.elements);
  std::vector<float> other(layout.elements);
  initialize_parameters(network->parameters(), layout, 7, first.data());
  initialize_parameters(network->parameters(), layout, 7, again.data());
  initialize_parameters(network->parameters(), layout, 8, other.data());
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);

  double sum = 0.0;
  double squares = 0.0;
  const std::size_t count = network->parameters()[4].size();  // fc1.weight: 102,400 values
  for (std::size_t i = 0; i < count; ++i) {
    const double value = first[layout.offsets[4] + i];
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / static_cast<double>(count), 0.0, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 0.01, 1e-4);
  EXPECT_EQ(first[layout.offsets[5]], 0.0F);  // a bias
}

TEST(Parameters, OffsetsAreAlignedAndDisjoint) {
  const auto network = make_model("lenet", {1, 28, 28}, 10);
  const ArenaLayout layout = layout_arena(network->parameters());
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    EXPECT_EQ(layout.offsets[i] % 16, 0U);
    EXPECT_LE(layout.offsets[i] + network->parameters()[i].size(), layout.end_of(i));
  }
}

}  // namespace
}  // namespace lockstep
