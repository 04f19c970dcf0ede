#include "ops/cuda/problems.h"

#include <gtest/gtest.h>

#include "lockstep/error.h"
#include "lockstep/models.h"

namespace lockstep::cuda {
namespace {

ConvProblem problem_of(const Graph& graph, std::size_t node, int samples = 128) {
  const Shape input = graph.nodes[static_cast<std::size_t>(graph.nodes[node].inputs[0])].shape;
  return conv_problem(graph.nodes[node], input, samples, Type::fp32);
}

Graph graph_of_one(Shape input, const Conv2d& options) {
  Network network(input);
  network.output(linear(flatten(conv2d(network.input(), options)), 10));
  return build_graph(network);
}

TEST(ConvProblem, OfLeNetsConvolutionsIsCroppedAndPaddedToEightChannels) {
  const auto network = make_model("lenet", {1, 28, 28}, 10);
  const Graph graph = build_graph(*network);
  EXPECT_EQ(problem_of(graph, 1), (ConvProblem{.samples = 128,
                                               .in_channels = 8,
                                               .in_height = 26,
                                               .in_width = 26,
                                               .out_channels = 24,
                                               .out_height = 24,
                                               .out_width = 24,
                                               .kernel = 3}));
  EXPECT_EQ(problem_of(graph, 2), (ConvProblem{.samples = 128,
                                               .in_channels = 24,
                                               .in_height = 12,
                                               .in_width = 12,
                                               .out_channels = 56,
                                               .out_height = 8,
                                               .out_width = 8,
                                               .kernel = 5}));
}

TEST(ConvProblem, OfALinearLayerIsOneByOne) {
  const auto network = make_model("mlp:30", {1, 28, 28}, 10);
  const Graph graph = build_graph(*network);
  EXPECT_EQ(problem_of(graph, graph.nodes.size() - 1, 7), (ConvProblem{.samples = 7,
                                                                       .in_channels = 32,
                                                                       .in_height = 1,
                                                                       .in_width = 1,
                                                                       .out_channels = 16,
                                                                       .out_height = 1,
                                                                       .out_width = 1}));
}

TEST(ConvProblem, TakesTheOptionsOfTheLayer) {
  const Graph graph = graph_of_one(
      {16, 9, 9}, {.channels = 32, .kernel = 3, .stride = 2, .padding = 1, .dilation = 2, .groups = 4});
  EXPECT_EQ(problem_of(graph, 1), (ConvProblem{.samples = 128,
                                               .in_channels = 16,
                                               .in_height = 9,
                                               .in_width = 9,
                                               .out_channels = 32,
                                               .out_height = 4,
                                               .out_width = 4,
                                               .kernel = 3,
                                               .stride = 2,
                                               .padding = 1,
                                               .dilation = 2,
                                               .groups = 4}));
}

TEST(ConvProblem, PadsTheGroupsOfADepthwiseConvolution) {
  const Graph graph = graph_of_one({12, 5, 5}, {.channels = 12, .kernel = 3, .groups = 12});
  EXPECT_EQ(problem_of(graph, 1).groups, 16);
  EXPECT_EQ(problem_of(graph, 1).in_channels, 16);
}

TEST(ConvProblem, NamesTheLayerWhoseGroupsPaddingWouldTearApart) {
  const Graph graph = graph_of_one({12, 5, 5}, {.channels = 12, .kernel = 3, .groups = 3, .name = "odd"});
  try {
    problem_of(graph, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::usage);
    EXPECT_NE(std::string(error.what()).find("odd: 3 groups of 12 to 12 channels"), std::string::npos);
  }
}

TEST(BatchNormProblem, HasAdditionAndReluOfItsNode) {
  const auto network = make_model("resnet20", {3, 32, 32}, 10);
  const Graph graph = build_graph(*network);
  int added = 0;
  for (const GraphNode& node : graph.nodes) {
    if (!std::holds_alternative<BatchNorm2d>(node.operation)) continue;
    const BatchNormProblem problem = batch_norm_problem(node, 64, Type::bf16);
    EXPECT_EQ(problem.samples, 64);
    EXPECT_EQ(problem.channels, node.shape.channels);
    EXPECT_EQ(problem.height, node.shape.height);
    EXPECT_EQ(problem.relu, node.epilogue.relu);
    added += problem.add ? 1 : 0;
  }
  EXPECT_EQ(added, 9);
}

}  // namespace
}  // namespace lockstep::cuda
