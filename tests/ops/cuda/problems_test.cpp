#include "ops/cuda/dnn/problems.h"

#include <gtest/gtest.h>

#include "lockstep/models.h"
#include "ops/cuda/dnn/flattening.h"

namespace lockstep::cuda {
namespace {

/// Description of the convolution problem of a node.
std::string problem_of(const Graph& graph, std::size_t node, int samples) {
  const Shape input = graph.nodes[static_cast<std::size_t>(graph.nodes[node].inputs[0])].shape;
  return describe(conv_problem(graph.nodes[node], input, samples, Type::fp32));
}
std::string problem_of(Shape input, const Conv2d& options) {
  Network network(input);
  network.output(linear(flatten(conv2d(network.input(), options)), 10));
  return problem_of(build_graph(network), 1, 2);
}
Graph graph_of(const std::string& model) { return build_graph(*make_model(model, {1, 28, 28}, 10)); }

TEST(Describe, NamesWhateverDiffersFromTheUsual) {
  ConvProblem problem{.samples = 2,
                      .in_channels = 16,
                      .in_height = 9,
                      .in_width = 8,
                      .out_channels = 24,
                      .out_height = 5,
                      .out_width = 4};
  EXPECT_EQ(describe(problem), "fp32 2x9x8x16 -> 5x4x24, kernel 1");
  problem.kernel = 3;
  problem.stride = 2;
  problem.padding = 1;
  problem.dilation = 4;
  problem.groups = 8;
  problem.type = Type::bf16;
  EXPECT_EQ(describe(problem),
            "bf16 2x9x8x16 -> 5x4x24, kernel 3, stride 2, padding 1, dilation 4, 8 groups");
}

TEST(ConvProblem, OfLeNetsConvolutionsIsCroppedAndPaddedToEightChannels) {
  EXPECT_EQ(problem_of(graph_of("lenet"), 1, 128), "fp32 128x26x26x8 -> 24x24x24, kernel 3");
  EXPECT_EQ(problem_of(graph_of("lenet"), 2, 128), "fp32 128x12x12x24 -> 8x8x56, kernel 5");
}

TEST(ConvProblem, OfALinearLayerIsOneByOne) {
  const Graph graph = graph_of("mlp:30");
  EXPECT_EQ(problem_of(graph, graph.nodes.size() - 1, 7), "fp32 7x1x1x32 -> 1x1x16, kernel 1");
}

TEST(ConvProblem, OfALinearLayerOfImagesHasAllTheirPaddedChannels) {
  const Graph graph = without_flattening(graph_of("lenet"), Type::fp32);  // 4 x 4 images of 56 channels
  EXPECT_EQ(problem_of(graph, graph.nodes.size() - 2, 7), "fp32 7x1x1x896 -> 1x1x128, kernel 1");
}

TEST(ConvProblem, TakesTheOptionsOfTheLayer) {
  EXPECT_EQ(problem_of({16, 9, 9},
                       {.channels = 32, .kernel = 3, .stride = 2, .padding = 1, .dilation = 2, .groups = 4}),
            "fp32 2x9x9x16 -> 4x4x32, kernel 3, stride 2, padding 1, dilation 2, 4 groups");
}

TEST(ConvProblem, PadsTheGroupsOfADepthwiseConvolution) {
  EXPECT_EQ(problem_of({12, 5, 5}, {.channels = 12, .kernel = 3, .groups = 12}),
            "fp32 2x5x5x16 -> 3x3x16, kernel 3, 16 groups");
}

TEST(ConvProblem, HasOneGroupWherePaddingWouldTearGroupsApart) {
  EXPECT_EQ(problem_of({12, 5, 5}, {.channels = 12, .kernel = 3, .groups = 3}),
            "fp32 2x5x5x16 -> 3x3x16, kernel 3");
}

ConvProblem in_one_direction(int in, int out, int kernel, int stride, int padding, int dilation = 1) {
  return {.samples = 1,
          .in_channels = 8,
          .in_height = in,
          .in_width = 100,
          .out_channels = 8,
          .out_height = out,
          .out_width = 100,
          .kernel = kernel,
          .stride = stride,
          .padding = padding,
          .dilation = dilation};
}

TEST(ConvExtent, IsWhatTheOutputReads) {
  struct Case {
    const char* what;
    ConvProblem problem;
    ConvExtent expected;
  };
  const Case cases[] = {
      {"no padding", in_one_direction(9, 7, 3, 1, 0), {9, 0}},
      {"same on both sides", in_one_direction(9, 9, 3, 1, 1), {9, 1}},
      {"dilated", in_one_direction(9, 9, 3, 1, 2, 2), {9, 2}},
      {"last input row in no window", in_one_direction(56, 28, 1, 2, 0), {56, 0}},
      {"last padding row in no window", in_one_direction(224, 112, 7, 2, 3), {224, 3}},
      {"cropped output, less padding after", in_one_direction(9, 8, 3, 1, 1), {9, 0}},
      {"cropped output, less than the padding", in_one_direction(20, 19, 5, 1, 2), {20, 1}},
      {"cropped output, rows are not read", in_one_direction(9, 6, 3, 1, 0), {8, 0}},
      {"cropped output, strided, padded", in_one_direction(11, 4, 3, 2, 1), {8, 0}},
  };
  for (const Case& c : cases) EXPECT_EQ(rows_of(c.problem), c.expected) << c.what;
}

/// The output size that a library computes from sizes and paddings must equal the graph's.
TEST(ConvExtent, GivesTheOutputByTheUsualFormula) {
  for (int kernel = 1; kernel <= 4; ++kernel) {
    for (int stride = 1; stride <= 3; ++stride) {
      for (int padding = 0; padding < kernel; ++padding) {
        for (int dilation = 1; dilation <= 2; ++dilation) {
          const int reach = dilation * (kernel - 1) + 1;
          const int largest = (20 + 2 * padding - reach) / stride + 1;
          for (int out = largest; out > 0 && (out - 1) * stride + reach > padding; --out) {
            const ConvProblem problem = in_one_direction(20, out, kernel, stride, padding, dilation);
            const ConvExtent extent = rows_of(problem);
            EXPECT_EQ((extent.size + padding + extent.padding_after - reach) / stride + 1, out)
                << describe(problem);
            EXPECT_LE(extent.size, 20);
            EXPECT_GE(extent.padding_after, 0);
          }
        }
      }
    }
  }
}

TEST(Engine, IsWrongWherePaddingIsNotSymmetric) {
  using enum ConvDirection;
  ConvProblem problem = in_one_direction(8, 8, 3, 1, 1);
  EXPECT_FALSE(is_wrong(problem, backward_weights, "eng1_k2=6_k3=0", false));
  EXPECT_FALSE(is_wrong(problem, backward_data, "eng50", true));
  problem.out_width = 99;
  EXPECT_TRUE(is_wrong(problem, backward_weights, "eng1_k2=6_k3=0", false));
  EXPECT_TRUE(is_wrong(problem, backward_data, "eng50", true));
  EXPECT_FALSE(is_wrong(problem, backward_weights, "eng10", false));
  EXPECT_FALSE(is_wrong(problem, forward, "eng1", true));
}

TEST(Engine, IsWrongForDepthwiseWeights) {
  using enum ConvDirection;
  ConvProblem problem = in_one_direction(9, 9, 5, 1, 2);
  problem.groups = 8;
  EXPECT_TRUE(is_wrong(problem, backward_weights, "eng17_k25=0", false));
  EXPECT_FALSE(is_wrong(problem, backward_data, "eng17_k25=0", false));
  problem.type = Type::bf16;
  EXPECT_FALSE(is_wrong(problem, backward_weights, "eng17_k25=0", false)) << "its results are as exact";
  problem.type = Type::fp32;
  problem.groups = 1;
  EXPECT_FALSE(is_wrong(problem, backward_weights, "eng17_k25=0", false));
}

TEST(Engine, IsAvoidedIfGenericOrConverting) {
  ConvProblem problem = in_one_direction(8, 8, 1, 1, 0);
  problem.type = Type::bf16;
  constexpr std::size_t images = std::size_t{2} * 8 * 100 * 8 * 2;
  for (const char* engine : {"eng0", "eng0_k2=1"})
    EXPECT_NE(reason_to_avoid(problem, engine, 0), "") << engine;
  for (const char* engine : {"eng1", "eng10_k2=8", ""}) EXPECT_EQ(reason_to_avoid(problem, engine, 0), "");
  EXPECT_NE(reason_to_avoid(problem, "eng41_k2=4", images), "");
  EXPECT_EQ(reason_to_avoid(problem, "eng41_k2=4", images - 1), "");
  EXPECT_EQ(reason_to_avoid(problem, "eng41_k2=4", 2 * images), "");
  problem.type = Type::fp32;
  EXPECT_EQ(reason_to_avoid(problem, "eng41_k2=4", 2 * images), "");
  EXPECT_NE(reason_to_avoid(problem, "eng0", 0), "");
}

}  // namespace
}  // namespace lockstep::cuda
