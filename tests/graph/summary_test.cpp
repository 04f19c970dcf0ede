#include "graph/summary.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Describe, SaysWhatIsNotUsual) {
  EXPECT_EQ(describe(Conv2d{.kernel = 3}), "conv2d 3x3");
  EXPECT_EQ(describe(Conv2d{.kernel = 3, .stride = 2, .padding = 1, .dilation = 2, .groups = 8}),
            "conv2d 3x3 stride 2 padding 1 dilation 2 groups 8");
  EXPECT_EQ(describe(BatchNorm2d{}), "batch_norm2d");
  EXPECT_EQ(describe(BatchNorm2d{.eps = 0.001, .momentum = 0.5}), "batch_norm2d eps 0.001 momentum 0.5");
  EXPECT_EQ(describe(Activation{Activation::Kind::gelu}), "gelu");
  EXPECT_EQ(describe(MaxPool2d{.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true}),
            "max_pool2d 3x3 stride 2 padding 1 ceil_mode");
  EXPECT_EQ(describe(AvgPool2d{.kernel = 2, .stride = 2, .count_include_pad = false}),
            "avg_pool2d 2x2 without padding");
  EXPECT_EQ(describe(AdaptiveAvgPool2d{7}), "adaptive_avg_pool2d 7x7");
  EXPECT_EQ(describe(Dropout{0.25}), "dropout 0.25");
}

TEST(MultiplyAdds, AreOfConvolutionsAndLinearLayers) {
  Network network({4, 8, 8});
  Value x = conv2d(network.input(), {.channels = 6, .kernel = 3, .stride = 2, .padding = 1, .groups = 2});
  x = relu(batch_norm2d(x));
  network.output(linear(flatten(x), 10));
  std::vector<std::uint64_t> counts;
  for (const Network::Layer& layer : network.layers()) {
    counts.push_back(multiply_adds(network, layer));
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 6 * 2 * 9 * 16, 0, 0, 0, 96 * 10}));
}

TEST(LayersOf, AreThoseThatANodeComputes) {
  Network network({1, 8, 8});
  Value x = avg_pool2d(relu(conv2d(network.input(), {.channels = 4, .kernel = 3})), {.kernel = 2});
  network.output(linear(flatten(x), 10));
  const Graph graph = build_graph(network);
  ASSERT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(layers_of(graph, 0), std::vector<std::size_t>{0});
  EXPECT_EQ(layers_of(graph, 1), (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(layers_of(graph, 3), std::vector<std::size_t>{5});
}

}  // namespace
}  // namespace lockstep
