#include "ops/cuda/dnn/flattening.h"

#include <gtest/gtest.h>

#include "lockstep/models.h"

namespace lockstep::cuda {
namespace {

/// Whether without_flattening() removes the flattening of an image before a linear layer.
bool is_gone(Shape image, int features, Type type) {
  Network network(image);
  network.output(linear(flatten(network.input()), features));
  const Graph graph = without_flattening(build_graph(network), type);
  const bool gone = graph.nodes[1].inputs.empty();
  EXPECT_EQ(graph.nodes[2].inputs[0], gone ? 0 : 1);
  return gone;
}

TEST(Flattening, IsOmittedWhereWeightsCanHaveTheOrderOfPixels) {
  for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
    EXPECT_TRUE(is_gone({50, 4, 4}, 128, type)) << "LeNet's";
    EXPECT_TRUE(is_gone({512, 1, 1}, 4096, type)) << "one pixel";
    EXPECT_TRUE(is_gone({3, 1, 1}, 10, type)) << "one pixel, padded either way";
    EXPECT_FALSE(is_gone({1, 28, 28}, 256, type)) << "eight times the weights";
    EXPECT_FALSE(is_gone({12, 4, 4}, 128, type)) << "a third more weights";
  }
}

TEST(Flattening, StaysBeforeLargeWeightsThatTheLibraryUsesInTheArena) {
  EXPECT_FALSE(is_gone({512, 7, 7}, 4096, Type::fp32));
  EXPECT_FALSE(is_gone({512, 7, 7}, 4096, Type::tf32));
  EXPECT_TRUE(is_gone({512, 7, 7}, 4096, Type::bf16)) << "these are rewritten anyway";
}

TEST(Flattening, StaysWhereItIsTheResultOrOthersReadIt) {
  for (const bool others : {false, true}) {
    Network network({8, 2, 2});
    const Value flat = flatten(network.input());
    network.output(others ? linear(flat, 32) + flat : flat);
    EXPECT_FALSE(without_flattening(build_graph(network), Type::fp32).nodes[1].inputs.empty());
  }
}

}  // namespace
}  // namespace lockstep::cuda
