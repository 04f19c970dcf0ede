#include "ops/cuda/gradient_buckets.h"

#include <gtest/gtest.h>

#include "lockstep/models.h"
#include "ops/cuda/kernels/parameters/finish_gradients.h"

namespace lockstep::cuda {
namespace {

struct Planned {
  Graph graph;
  GradientBuckets buckets;

  /// Names of the nodes after which a bucket ends, in backward's order.
  std::vector<std::string> ends() const {
    std::vector<std::string> names;
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      if (buckets.ends[i]) names.push_back(graph.nodes[i].name);
    }
    return names;
  }
};

/// Each node leaves `left` bytes.
Planned plan(const Network& network, std::size_t left) {
  Planned planned{build_graph(network), {}};
  const GradientFlow flow = trace_gradients(planned.graph, {.samples = 1});
  planned.buckets = plan_buckets(planned.graph, layout_arena(network.parameters()), flow,
                                 std::vector(planned.graph.nodes.size(), left));
  return planned;
}

TEST(GradientBuckets, SmallNetworksHaveOne) {
  const Planned planned = plan(*make_model("lenet", {1, 28, 28}, 10), 100);
  EXPECT_EQ(planned.ends(), std::vector<std::string>{});  // the last bucket ends with backward
  EXPECT_EQ(planned.buckets.bytes, 4U * 256);
}

TEST(GradientBuckets, OfLargeNetworksEndAfterEightMegabytes) {
  const Planned planned = plan(*make_model("resnet18-d2l", {1, 28, 28}, 10), 1);
  // A convolution of 512 to 512 channels has 9.4 MB.
  const std::vector<std::string> expected = {"resnet_block4.1.conv2", "resnet_block4.1.conv1",
                                             "resnet_block4.0.conv2", "resnet_block3.1.conv1", "0"};
  EXPECT_EQ(planned.ends(), expected);
}

TEST(GradientBuckets, OfManySmallLayersEndWhereAKernelIsFull) {
  Network network({8, 1, 1});
  Value x = network.input();
  for (std::size_t i = 0; i < 2 * GradientFinish::capacity; ++i) x = linear(x, 8);
  network.output(x);
  const Planned planned = plan(network, 256);
  EXPECT_EQ(planned.ends().size(), 2U);
  EXPECT_EQ(planned.buckets.bytes, GradientFinish::capacity * 256);
}

TEST(GradientBuckets, KeepWhatNodesLeaveApart) {
  const Planned planned = plan(*make_model("lenet", {1, 28, 28}, 10), 300);
  std::vector<std::size_t> offsets;
  for (std::size_t i = planned.graph.nodes.size(); i-- > 0;) {
    if (!planned.graph.nodes[i].parameters.empty()) offsets.push_back(planned.buckets.offsets[i]);
  }
  EXPECT_EQ(offsets, (std::vector<std::size_t>{0, 512, 1024, 1536}));
}

}  // namespace
}  // namespace lockstep::cuda
