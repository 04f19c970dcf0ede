#include "ops/cpu/channel_chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "graph/operations.h"
#include "ops/run_network.h"

namespace lockstep::test {
namespace {

using cpu::find_chains;

/// A network with chains, and the nodes of each chain.
struct ChainCase {
  const char* name;
  Value (*build)(Value input);  ///< returns the value that the test flattens and feeds to a linear layer
  std::vector<NodeRange> chains;
};
void PrintTo(const ChainCase& each, std::ostream* stream) { *stream << each.name; }

Value depthwise(Value x, int stride, bool bias = false) {
  const int channels = x.shape().channels;
  return conv2d(
      x,
      {.channels = channels, .kernel = 3, .stride = stride, .padding = 1, .groups = channels, .bias = bias});
}

/// Node 0 is the input; ReLU and ReLU6 are fused into the batch norm or convolution before them.
std::vector<ChainCase> chain_cases() {
  return {
      {"NormDepthwiseNorm",
       [](Value x) {
         x = relu6(batch_norm2d(conv2d(x, {.channels = 12, .kernel = 1})));
         return conv2d(relu6(batch_norm2d(depthwise(x, 2))), {.channels = 3, .kernel = 1});
       },
       {{2, 5}}},
      {"NormPool",
       [](Value x) {
         x = relu(batch_norm2d(conv2d(x, {.channels = 16, .kernel = 3, .padding = 1})));
         return conv2d(max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1}), {.channels = 4, .kernel = 1});
       },
       {{2, 4}}},
      {"FromTheInputToTheOutput",
       [](Value x) { return adaptive_avg_pool2d(relu6(gelu(depthwise(batch_norm2d(x), 1, true)))); },
       {{1, 6}}},
      {"WithBiasBeforeNorm",
       [](Value x) {
         x = relu(batch_norm2d(depthwise(conv2d(x, {.channels = 7, .kernel = 1}), 1, true)));
         return conv2d(avg_pool2d(x, {.kernel = 2}), {.channels = 3, .kernel = 1});
       },
       {{2, 5}}},
      {"WithReluInDepthwise",
       [](Value x) {
         x = batch_norm2d(relu(depthwise(conv2d(x, {.channels = 11, .kernel = 1}), 1, true)));
         return conv2d(x, {.channels = 3, .kernel = 1});
       },
       {{2, 4}}},
      {"ActivationsApart",
       [](Value x) {
         x = silu(batch_norm2d(conv2d(x, {.channels = 8, .kernel = 1})));
         x = relu(max_pool2d(silu(batch_norm2d(depthwise(x, 2))), {.kernel = 2}));
         return conv2d(x, {.channels = 3, .kernel = 1});
       },
       {{2, 9}}},
      {"WithMoreParametersThanAnOperationCanHave",
       [](Value x) {
         for (int i = 0; i < 5; ++i) x = batch_norm2d(x);
         return x;
       },
       {{1, 4}, {4, 6}}},
      {"WithSeveralReaders",
       [](Value x) {
         x = batch_norm2d(conv2d(x, {.channels = 6, .kernel = 1}));
         const Value y = depthwise(batch_norm2d(depthwise(x, 1)), 1);
         return relu(batch_norm2d(conv2d(y, {.channels = 6, .kernel = 1}))) + depthwise(x, 1);
       },
       {{3, 6}}},
  };
}

std::unique_ptr<Network> network_of(const ChainCase& each) {
  auto network = std::make_unique<Network>(Shape{12, 27, 25});
  network->output(linear(flatten(each.build(network->input())), 5));
  return network;
}

class ChannelChains : public ::testing::TestWithParam<ChainCase> {
 protected:
  const std::unique_ptr<Network> network = network_of(GetParam());
  const Graph graph = build_graph(*network);
  const std::vector<float> parameters = first_parameters(*network);
};
INSTANTIATE_TEST_SUITE_P(Table, ChannelChains, ::testing::ValuesIn(chain_cases()),
                         [](const auto& row) { return row.param.name; });

TEST(ChannelChainCases, HaveEveryOperationThatComputesByChannel) {
  std::set<std::string> in_chains;
  for (const ChainCase& each : chain_cases()) {
    const auto network = network_of(each);
    const Graph graph = build_graph(*network);
    for (const NodeRange& chain : each.chains) {
      for (std::size_t i = chain.begin; i < chain.end; ++i) {
        in_chains.insert(name_of(graph.nodes[i].operation));
      }
    }
  }
  std::set<std::string> by_channel_names = {name_of(Conv2d{})};  // only depthwise convolutions
  for (const Operation& operation : operations_of_files()) {
    if (by_channel(operation, {12, 8, 8})) by_channel_names.insert(name_of(operation));
  }
  EXPECT_EQ(in_chains, by_channel_names);
}

TEST_P(ChannelChains, HaveTheNodesThatTheyCan) {
  const GradientFlow flow = trace_gradients(graph, {.samples = 16});
  EXPECT_EQ(find_chains(graph, flow, 16), GetParam().chains);
  EXPECT_TRUE(find_chains(graph, flow, 17).empty());
  for (const NodeRange& chain : GetParam().chains) {
    for (const DataType dtype : {DataType::fp32, DataType::bf16}) {
      const int channels = graph.nodes[chain.begin].shape.channels;
      EXPECT_LT(cpu::channels_of_piece(graph, chain, dtype), channels);  // else offsets would not be tested
    }
  }
}

/// With `nodes_apart`, each operation runs on whole tensors.
TEST_P(ChannelChains, HaveTheBitsOfTheOperationsApart) {
  for (const int samples : {16, 5}) {
    const NetworkInputs inputs(*network, samples, 3);
    for (const cpu::Level level : cpu::available_levels()) {
      for (const DataType dtype : {DataType::fp32, DataType::bf16}) {
        const std::string where = std::string(cpu::level_name(level)) + ", " + std::to_string(samples) +
                                  (dtype == DataType::bf16 ? ", bf16" : "");
        PlanOptions options{.samples = 16, .nodes_apart = true};
        const NetworkResults apart =
            NetworkOnCpu(*network, graph, options, level, dtype).run(inputs, parameters);
        options.nodes_apart = false;
        for (const bool recompute : {false, true}) {
          options.recompute = recompute;
          NetworkOnCpu chained(*network, graph, options, level, dtype);
          const NetworkResults results = chained.run(inputs, parameters);
          EXPECT_EQ(results.leaf.loss, apart.leaf.loss) << where;
          EXPECT_EQ(results.predictions, apart.predictions) << where;
          EXPECT_EQ(results.gradients, apart.gradients) << where << (recompute ? ", recomputed" : "");
          EXPECT_TRUE(chained.stayed_inside()) << where;
        }
      }
    }
  }
}

TEST_P(ChannelChains, EvaluateAsTheOperationsApart) {
  const NetworkInputs inputs(*network, 9, 5);
  for (const cpu::Level level : cpu::available_levels()) {
    for (const DataType dtype : {DataType::fp32, DataType::bf16}) {
      PlanOptions options{.samples = 16, .training = false, .nodes_apart = true};
      const auto apart = NetworkOnCpu(*network, graph, options, level, dtype).run(inputs, parameters);
      options.nodes_apart = false;
      const auto results = NetworkOnCpu(*network, graph, options, level, dtype).run(inputs, parameters);
      EXPECT_EQ(results.leaf.loss, apart.leaf.loss) << cpu::level_name(level);
      EXPECT_EQ(results.predictions, apart.predictions) << cpu::level_name(level);
    }
  }
}

/// Frozen nodes have no backward pass, so either all nodes of a chain are frozen or none is.
TEST(ChannelChain, EndsWhereFreezingEnds) {
  Network network({4, 8, 8});
  network.output(linear(flatten(batch_norm2d(depthwise(batch_norm2d(network.input()), 1))), 5));
  const Graph graph = build_graph(network);
  std::vector<bool> frozen(network.parameters().size(), false);
  std::fill_n(frozen.begin(), 5, true);  // parameters of the first norm, and the convolution's weight
  PlanOptions options{.samples = 16, .frozen = frozen};
  EXPECT_EQ(find_chains(graph, trace_gradients(graph, options), 16), (std::vector<NodeRange>{{1, 3}}));
  const std::vector<float> parameters = first_parameters(network);
  const NetworkInputs inputs(network, 16, 7);
  const auto gradients = NetworkOnCpu(network, graph, options).run(inputs, parameters).gradients;
  options.nodes_apart = true;
  EXPECT_EQ(gradients, NetworkOnCpu(network, graph, options).run(inputs, parameters).gradients);
}

/// A chain of three operations on tensors of 51 MB in fp32 and 26 MB in bf16, large enough for streaming
/// stores. Only one channel at a time is held of the first norm's output and of the gradients of that norm
/// and the convolution.
TEST(ChannelChain, OfLargeTensorsHasTheSameBitsAndLessMemory) {
  Network network({2, 224, 224});
  const Value x = batch_norm2d(conv2d(network.input(), {.channels = 16, .kernel = 1}));
  const Value y = conv2d(batch_norm2d(depthwise(x, 1)), {.channels = 1, .kernel = 1});
  network.output(linear(flatten(max_pool2d(y, {.kernel = 8})), 5));
  const Graph graph = build_graph(network);
  const std::vector<float> parameters = first_parameters(network);
  const NetworkInputs inputs(network, 16, 9);
  PlanOptions options{.samples = 16};
  EXPECT_LT(2 * NetworkOnCpu(network, graph, options).workspace_bytes(), 11 * 16 * 224 * 224 * 64);
  for (const DataType dtype : {DataType::fp32, DataType::bf16}) {
    const auto run = [&](bool nodes_apart) {
      options.nodes_apart = nodes_apart;
      return NetworkOnCpu(network, graph, options, cpu::best_level(), dtype).run(inputs, parameters);
    };
    EXPECT_EQ(run(false).gradients, run(true).gradients);
  }
}

/// The variance of one value is 0, so each batch norm multiplies by 316. If missing samples' lanes were not
/// masked, 24 such factors would overflow to infinity.
TEST(MissingSamples, StayFiniteInDeepNetworks) {
  Network network({4, 1, 1});
  Value x = network.input();
  for (int i = 0; i < 24; ++i) x = batch_norm2d(conv2d(x, {.channels = 8}));
  network.output(linear(flatten(x), 3));
  const Graph graph = build_graph(network);
  const NetworkInputs inputs(network, 1, 3);
  for (const cpu::Level level : cpu::available_levels()) {
    for (const DataType dtype : {DataType::fp32, DataType::bf16}) {
      NetworkOnCpu compiled(network, graph, {.samples = 16}, level, dtype);
      for (const float gradient : compiled.run(inputs, first_parameters(network)).gradients) {
        ASSERT_TRUE(std::isfinite(gradient)) << cpu::level_name(level);
      }
    }
  }
}

TEST(ChannelChain, IsComputedAgainToSaveMemory) {
  Network network({16, 28, 28});
  Value x = network.input();
  for (int block = 0; block < 4; ++block) {
    x = relu6(batch_norm2d(depthwise(relu6(batch_norm2d(conv2d(x, {.channels = 32, .kernel = 1}))), 1)));
  }
  network.output(linear(flatten(x), 5));
  const Graph graph = build_graph(network);
  const std::size_t kept = NetworkOnCpu(network, graph, {.samples = 16}).workspace_bytes();
  EXPECT_LT(NetworkOnCpu(network, graph, {.samples = 16, .recompute = true}).workspace_bytes(),
            kept - 32 * 28 * 28 * 64);
}

}  // namespace
}  // namespace lockstep::test
