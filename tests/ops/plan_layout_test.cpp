#include "ops/plan_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::test {
namespace {

constexpr Shape image{3, 6, 6};

/// Graph: input, conv, conv of the first conv, their sum, flatten, linear. Parameters: 3 x (weight, bias).
Graph branched() {
  Network network(image);
  const Value x = conv2d(network.input(), {.channels = 4, .kernel = 3, .padding = 1});
  const Value y = conv2d(x, {.channels = 4, .kernel = 3, .padding = 1});
  network.output(linear(flatten(x + y), 5));
  return build_graph(network);
}

/// Both backends use this flow, so comparing them would not reveal a contribution that overwrites another.
TEST(GradientFlow, WritesTheFirstContributionInBackwardsOrderInPlace) {
  const GradientFlow flow = trace_gradients(branched(), {.samples = 1});
  const auto& sum = flow.contributions[3];
  EXPECT_TRUE(sum[0].wanted && sum[0].first);
  EXPECT_TRUE(sum[1].wanted && sum[1].first);
  EXPECT_TRUE(flow.contributions[2][0].wanted && !flow.contributions[2][0].first);
  EXPECT_FALSE(flow.contributions[1][0].wanted);  // images need no gradient
}

TEST(GradientFlow, LeavesLayersThatNothingReadsToBeCleared) {
  Network network(image);
  conv2d(network.input(), {.channels = 4});
  network.output(linear(flatten(network.input()), 5));
  const Graph graph = build_graph(network);
  const ArenaLayout layout = layout_arena(network.parameters());
  const std::vector<ArenaRange> cleared =
      ranges_without_gradient(graph, layout, trace_gradients(graph, {.samples = 1}));
  ASSERT_EQ(cleared.size(), 1U);
  EXPECT_EQ(cleared[0].begin, layout.offsets[0]);  // weight and bias of the convolution
  EXPECT_EQ(cleared[0].end, layout.offsets[2]);
}

void expect_no_overlap(const std::vector<MemoryBlock>& blocks, std::size_t bytes) {
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    EXPECT_EQ(blocks[a].offset % 64, 0U);
    EXPECT_LE(blocks[a].offset + blocks[a].bytes, bytes);
    for (std::size_t b = 0; b < a; ++b) {
      const bool same_time = blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last;
      const bool same_place = blocks[a].offset < blocks[b].offset + blocks[b].bytes &&
                              blocks[b].offset < blocks[a].offset + blocks[a].bytes;
      EXPECT_FALSE(same_time && same_place) << a << " and " << b;
    }
  }
}

TEST(MemoryBlocks, ChainNeedsTwoNeighboursOnly) {
  std::vector<MemoryBlock> blocks{{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  const std::size_t bytes = place_blocks(blocks);
  expect_no_overlap(blocks, bytes);
  EXPECT_EQ(bytes, 1280U);
}

TEST(MemoryBlocks, RandomLivesNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryBlock> blocks;
    for (int i = 0; i < 30; ++i) {
      const int first = static_cast<int>(random() % 20);
      blocks.push_back({random() % 5000, first, first + static_cast<int>(random() % 10)});
    }
    const std::size_t bytes = place_blocks(blocks);
    expect_no_overlap(blocks, bytes);
  }
}

TEST(WorkspaceLayout, AlignsBlocksAndHasNoneOfNothing) {
  const Graph graph = branched();
  const PlanOptions options{.samples = 3};
  WorkspaceBytes bytes{.nodes = {}, .loss_scratch = 100, .samples = 3, .alignment = 256};
  bytes.nodes.resize(graph.nodes.size(), {.value = 300, .backward_reads_inputs = 1});
  bytes.nodes[1].saved = 7;
  bytes.nodes[2].prepared = 9;
  const WorkspaceLayout layout = lay_out_workspace(graph, options, trace_gradients(graph, options), bytes);
  for (const WorkspaceLayout::Node& node : layout.nodes) {
    EXPECT_EQ(node.value % 256, 0U);
  }
  EXPECT_EQ(layout.nodes[0].gradient, WorkspaceLayout::none);
  EXPECT_NE(layout.nodes[1].gradient, WorkspaceLayout::none);
  EXPECT_NE(layout.nodes[1].saved, WorkspaceLayout::none);
  EXPECT_EQ(layout.nodes[2].saved, WorkspaceLayout::none);
  EXPECT_NE(layout.nodes[2].prepared, WorkspaceLayout::none);
  EXPECT_EQ(layout.nodes[1].prepared, WorkspaceLayout::none);
  EXPECT_EQ(layout.bytes % 256, 0U);
}

/// Residual blocks, with a convolution between two of them. The backward pass of a batch norm reads its first
/// input and its output.
TEST(WorkspaceLayout, RecomputedResultsOccupyNoMemoryBetweenForwardAndBackward) {
  constexpr int blocks = 6;
  const Conv2d conv{.channels = 4, .kernel = 3, .padding = 1};
  Network network(image);
  Value x = conv2d(network.input(), conv);
  for (int block = 0; block < blocks; ++block) {
    x = conv2d(relu(batch_norm2d(conv2d(x, conv)) + x), conv);
  }
  network.output(linear(flatten(x), 5));
  const Graph graph = build_graph(network);
  const auto is_norm = [&](int id) {
    return std::holds_alternative<BatchNorm2d>(graph.nodes[static_cast<std::size_t>(id)].operation);
  };
  WorkspaceBytes bytes{.nodes = {}, .samples = 3};
  for (int id = 0; id < static_cast<int>(graph.nodes.size()); ++id) {
    bytes.nodes.push_back({.value = 1024,
                           .backward_reads_inputs = 1,
                           .backward_reads_output = is_norm(id),
                           .recomputable = is_norm(id)});
  }
  PlanOptions options{.samples = 3};
  const GradientFlow flow = trace_gradients(graph, options);
  const WorkspaceLayout kept = lay_out_workspace(graph, options, flow, bytes);
  options.recompute = true;
  const WorkspaceLayout recomputed = lay_out_workspace(graph, options, flow, bytes);
  EXPECT_LE(recomputed.bytes + (blocks - 2) * 1024, kept.bytes);
  for (int id = 1; id < static_cast<int>(graph.nodes.size()); ++id) {
    const WorkspaceLayout::Node& places = recomputed.nodes[static_cast<std::size_t>(id)];
    EXPECT_TRUE(is_norm(id) || places.value == places.value_in_backward) << id;
    // A norm is recomputed before the backward of the convolution after it.
    EXPECT_EQ(recomputed.recomputed_before[static_cast<std::size_t>(id)],
              is_norm(id - 1) ? std::vector{id - 1} : std::vector<int>{})
        << id;
    EXPECT_TRUE(kept.recomputed_before[static_cast<std::size_t>(id)].empty()) << id;
  }
}

/// Each concatenation reads the previous one, so all would be recomputed at once, while gradients also occupy
/// memory.
TEST(WorkspaceLayout, RecomputesNothingWhereThatTakesMoreMemory) {
  Network network(image);
  Value x = network.input();
  for (int i = 0; i < 4; ++i) {
    x = concat({x, batch_norm2d(conv2d(x, {.channels = 4, .kernel = 3, .padding = 1}))});
  }
  network.output(linear(flatten(x), 5));
  const Graph graph = build_graph(network);
  WorkspaceBytes bytes{.nodes = {}, .samples = 3};
  for (const GraphNode& node : graph.nodes) {
    const bool joins = std::holds_alternative<Concat>(node.operation);
    bytes.nodes.push_back({.value = node.shape.size() * 16,
                           .backward_reads_inputs = joins ? 0U : 1U,
                           .recomputable = joins || std::holds_alternative<BatchNorm2d>(node.operation)});
  }
  PlanOptions options{.samples = 3};
  const GradientFlow flow = trace_gradients(graph, options);
  const WorkspaceLayout kept = lay_out_workspace(graph, options, flow, bytes);
  options.recompute = true;
  const WorkspaceLayout layout = lay_out_workspace(graph, options, flow, bytes);
  EXPECT_EQ(layout.bytes, kept.bytes);
  EXPECT_EQ(layout.recomputed_before, kept.recomputed_before);
}

}  // namespace
}  // namespace lockstep::test
