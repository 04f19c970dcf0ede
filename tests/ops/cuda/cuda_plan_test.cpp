// Plans of whole networks on both backends. CUDA results are compared with the CPU's.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gradient/cuda/fold.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "ops/cuda/run_network.h"

namespace lockstep::test {
namespace {

constexpr int full = 6;
constexpr int part = 5;

/// Network with odd channel counts, strides, groups, fused and separate additions, values with several
/// readers, concatenation, and biases before batch norm, which have zero gradients.
std::unique_ptr<Network> residual_network() {
  auto network = std::make_unique<Network>(Shape{3, 13, 12});
  Value x =
      relu(batch_norm2d(conv2d(network->input(), {.channels = 5, .kernel = 3, .padding = 1, .bias = false})));
  Value y = relu6(batch_norm2d(conv2d(x, {.channels = 5, .kernel = 3, .padding = 1, .groups = 5})));
  y = relu(x + batch_norm2d(conv2d(y, {.channels = 5, .kernel = 1})));
  y = concat({x, y, conv2d(y, {.channels = 3, .kernel = 3, .padding = 1})});
  y = conv2d(y, {.channels = 20, .kernel = 3, .stride = 2, .padding = 1});
  y = y + relu(conv2d(y, {.channels = 20, .kernel = 5, .padding = 2}));
  network->output(linear(relu(linear(flatten(y + y), 17)), 10));
  return network;
}

/// Network with 3x3 and 2x2 pooling after convolutions with ReLU.
std::unique_ptr<Network> averaging_network() {
  auto network = std::make_unique<Network>(Shape{3, 12, 12});
  const Value x =
      avg_pool2d(relu(conv2d(network->input(), {.channels = 5, .kernel = 3, .padding = 1})), {.kernel = 3});
  const Value y = avg_pool2d(relu(conv2d(x, {.channels = 6, .kernel = 3, .padding = 1})), {.kernel = 2});
  network->output(linear(flatten(y), 10));
  return network;
}

/// Network with dropout, and with widths that fill the blocks of the CPU's kernels.
std::unique_ptr<Network> wide_network() {
  auto network = std::make_unique<Network>(Shape{3, 12, 12});
  Value x = relu(conv2d(network->input(), {.channels = 16, .kernel = 3, .padding = 1}));
  x = concat({x, conv2d(x, {.channels = 16, .kernel = 3, .padding = 1, .groups = 16})});
  x = conv2d(x, {.channels = 16, .kernel = 3, .padding = 1});
  x = dropout(x + conv2d(x, {.channels = 16, .kernel = 1}), 0.5);
  network->output(linear(flatten(max_pool2d(x, {.kernel = 2})), 4));
  return network;
}

/// Network in which no node adds to the output of another, so that nodes can run in any order.
std::unique_ptr<Network> chain_network() {
  auto network = std::make_unique<Network>(Shape{3, 12, 12});
  Value x = batch_norm2d(conv2d(network->input(), {.channels = 16, .kernel = 3, .padding = 1}));
  x = dropout(max_pool2d(relu6(x), {.kernel = 2}), 0.5);
  network->output(linear(relu(linear(flatten(x), 20)), 4));
  return network;
}

/// Network with more layers than one kernel launch can handle when padding weights or finishing gradients.
std::unique_ptr<Network> deep_network() {
  auto network = std::make_unique<Network>(Shape{9, 1, 1});
  Value x = network->input();
  for (int i = 0; i < 60; ++i) x = linear(x, 9 + i % 3);
  network->output(x);
  return network;
}

std::unique_ptr<Network> network_called(const std::string& name) {
  if (name == "residual") return residual_network();
  if (name == "averaging") return averaging_network();
  if (name == "wide") return wide_network();
  if (name == "chain") return chain_network();
  if (name == "deep") return deep_network();
  return make_model(name, name == "resnet20" ? Shape{3, 8, 8} : Shape{1, 28, 28}, 10);
}

/// Norm of the difference of a range over the norm of the expected values.
double relative_distance(const std::vector<float>& actual, const std::vector<float>& expected,
                         std::size_t begin, std::size_t size) {
  double difference = 0.0;
  double length = 0.0;
  for (std::size_t i = begin; i < begin + size; ++i) {
    const auto a = static_cast<double>(actual[i]);
    const auto e = static_cast<double>(expected[i]);
    difference += (a - e) * (a - e);
    length += e * e;
  }
  return std::sqrt(difference / std::max(length, 1e-12));
}

/// Expects a relative distance below `tolerance` for each parameter's gradient.
void expect_same_gradients(const Network& network, const std::vector<float>& actual,
                           const std::vector<float>& expected, double tolerance, const std::string& where) {
  ASSERT_EQ(actual.size(), expected.size());
  const ArenaLayout layout = layout_arena(network.parameters());
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    const Parameter& parameter = network.parameters()[p];
    EXPECT_LT(relative_distance(actual, expected, layout.offsets[p], parameter.size()), tolerance)
        << where << parameter.name;
  }
}

void expect_zeros_between_parameters(const Network& network, const std::vector<float>& arena) {
  const ArenaLayout layout = layout_arena(network.parameters());
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    for (std::size_t i = layout.offsets[p] + network.parameters()[p].size(); i < layout.end_of(p); ++i) {
      ASSERT_EQ(arena[i], 0.0F) << "after " << network.parameters()[p].name;
    }
  }
}

struct NetworkCase {
  const char* name;
  cuda::Type type;
  /// Relative distance: of each parameter's gradient in fp32, of all gradients together in bf16, where
  /// rounding may flip a ReLU and change gradients of a few samples by tenths. ops_test.cpp compares single
  /// operations more strictly.
  double tolerance;
  bool mixes = false;

  double loss_tolerance() const { return type == cuda::Type::bf16 ? 2e-2 : 1e-4; }
};
void PrintTo(const NetworkCase& each, std::ostream* stream) { *stream << each.name; }

class CudaNetworks : public ::testing::TestWithParam<NetworkCase> {
 protected:
  const std::unique_ptr<Network> network = network_called(GetParam().name);
  const std::vector<float> parameters = first_parameters(*network);
};

TEST_P(CudaNetworks, EqualTheCpu) {
  const PlanOptions options{.samples = full, .label_smoothing = 0.1F};
  NetworkOnCuda cuda(*network, options, GetParam().type, {part, 1});
  for (const int samples : {full, part, 1, full}) {  // all sizes use the same memory
    const NetworkInputs inputs(*network, samples, 11, GetParam().mixes);
    const NetworkResults expected = run_on_cpu(*network, options, inputs, parameters);
    const NetworkResults actual = cuda.run(inputs, parameters);
    const std::string where = std::to_string(samples) + " samples, ";
    EXPECT_NEAR(actual.leaf.loss, expected.leaf.loss, GetParam().loss_tolerance() * expected.leaf.loss)
        << where;
    EXPECT_EQ(actual.leaf.samples, expected.leaf.samples) << where;
    expect_zeros_between_parameters(*network, actual.gradients);
    EXPECT_LT(relative_distance(actual.gradients, expected.gradients, 0, actual.gradients.size()),
              GetParam().tolerance)
        << where;
    if (GetParam().type == cuda::Type::fp32) {
      expect_same_gradients(*network, actual.gradients, expected.gradients, GetParam().tolerance, where);
      EXPECT_EQ(actual.predictions, expected.predictions) << where;
      EXPECT_EQ(actual.leaf.correct, expected.leaf.correct) << where;
      EXPECT_EQ(actual.leaf.correct5, expected.leaf.correct5) << where;
    }
  }
  EXPECT_TRUE(cuda.stayed_inside());
}

TEST_P(CudaNetworks, GiveTheSameBitsAgain) {
  const NetworkInputs inputs(*network, part, 3);
  NetworkOnCuda exact(*network, {.samples = part}, GetParam().type);
  NetworkOnCuda larger(*network, {.samples = full}, GetParam().type, {part});
  const NetworkResults first = exact.run(inputs, parameters);
  for (NetworkOnCuda* each : {&exact, &larger}) {
    const NetworkResults again = each->run(inputs, parameters);
    EXPECT_EQ(again.gradients, first.gradients);
    EXPECT_EQ(again.leaf.loss, first.leaf.loss);
  }
}

TEST_P(CudaNetworks, EvaluateAsTheCpu) {
  const PlanOptions options{.samples = full, .training = false};
  NetworkOnCuda cuda(*network, options, GetParam().type, {part});
  for (const int samples : {full, part}) {
    const NetworkInputs inputs(*network, samples, 13);
    const NetworkResults expected = run_on_cpu(*network, options, inputs, parameters);
    const NetworkResults actual = cuda.run(inputs, parameters);
    EXPECT_NEAR(actual.leaf.loss, expected.leaf.loss, GetParam().loss_tolerance() * expected.leaf.loss);
    if (GetParam().type == cuda::Type::fp32) {
      EXPECT_EQ(actual.predictions, expected.predictions);
    }
  }
  EXPECT_TRUE(cuda.stayed_inside());
}

const std::vector<NetworkCase> network_cases = {
    {"mlp:30", cuda::Type::fp32, 1e-5},    {"mlp:30", cuda::Type::bf16, 0.15},
    {"lenet", cuda::Type::fp32, 1e-5},     {"lenet", cuda::Type::bf16, 0.15},
    {"residual", cuda::Type::fp32, 1e-4},  {"residual", cuda::Type::bf16, 0.25},
    {"averaging", cuda::Type::fp32, 1e-4}, {"averaging", cuda::Type::bf16, 0.25},
    {"resnet20", cuda::Type::fp32, 1e-3},  {"mlp:31", cuda::Type::fp32, 1e-5, true},
    {"deep", cuda::Type::fp32, 1e-4}};
INSTANTIATE_TEST_SUITE_P(Table, CudaNetworks, ::testing::ValuesIn(network_cases), [](const auto& row) {
  std::string name = row.param.name;
  std::erase(name, ':');
  return name + (row.param.type == cuda::Type::bf16 ? "Bf16" : "Fp32");
});

/// A backend. On the CPU, 18 samples need more than one group; 16 fill exactly one, so operations run in
/// chains.
struct Backend {
  const char* name;
  std::optional<cuda::Type> type;  ///< empty: the CPU
  int samples;

  std::unique_ptr<CompiledNetwork> compile(const Network& network, const Graph& graph,
                                           PlanOptions options) const {
    options.samples = samples;
    if (!type) return std::make_unique<NetworkOnCpu>(network, graph, options);
    return std::make_unique<NetworkOnCuda>(network, graph, options, *type);
  }
  std::unique_ptr<CompiledNetwork> compile(const Network& network, const PlanOptions& options = {}) const {
    return compile(network, build_graph(network), options);
  }
};
void PrintTo(const Backend& each, std::ostream* stream) { *stream << each.name; }

class Plans : public ::testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(Backends, Plans,
                         ::testing::Values(Backend{"Cpu", std::nullopt, 18},
                                           Backend{"CpuInChains", std::nullopt, 16},
                                           Backend{"Fp32", cuda::Type::fp32, full},
                                           Backend{"Bf16", cuda::Type::bf16, full}),
                         [](const auto& row) { return row.param.name; });

/// Gradients of frozen parameters are unchanged or zero; all others are unchanged.
TEST_P(Plans, FrozenParametersChangeNoOtherGradients) {
  if (GetParam().type == cuda::Type::bf16) return;  // freezing is the same as in fp32
  std::vector<const char*> names{"residual", "wide"};
  if (!GetParam().type) names.insert(names.end(), {"lenet", "resnet20"});
  for (const char* name : names) {
    const auto network = network_called(name);
    const ArenaLayout layout = layout_arena(network->parameters());
    const std::vector<float> parameters = first_parameters(*network);
    const NetworkInputs inputs(*network, GetParam().samples, 19);
    const auto free = GetParam().compile(*network);
    const std::vector<float> expected = free->run(inputs, parameters).gradients;
    const std::size_t all = network->parameters().size();
    std::vector<std::vector<bool>> patterns{std::vector<bool>(all, true)};
    for (std::size_t p = 0; p < all; p += 2) patterns[0][p] = false;
    for (std::size_t count = 1; count < all; count += 1 + all / 20) {
      patterns.emplace_back(all, false);
      std::fill_n(patterns.back().begin(), count, true);
    }
    for (const std::vector<bool>& pattern : patterns) {
      const auto frozen = GetParam().compile(*network, {.frozen = pattern});
      const std::vector<float> actual = frozen->run(inputs, parameters).gradients;
      for (std::size_t p = 0; p < all; ++p) {
        for (std::size_t i = layout.offsets[p]; i < layout.end_of(p); ++i) {
          ASSERT_TRUE(actual[i] == expected[i] || (pattern[p] && actual[i] == 0.0F))
              << name << ", " << network->parameters()[p].name << ", element " << i;
        }
      }
      EXPECT_LE(frozen->workspace_bytes(), free->workspace_bytes());
    }
  }
}

/// The smaller workspace shows this: nothing is saved for nodes without a backward pass.
TEST_P(Plans, BackwardEndsWhereEverythingBeforeIsFrozen) {
  const auto network = make_model("resnet20", {3, 32, 32}, 10);
  std::vector<bool> all_but_head(network->parameters().size(), true);
  all_but_head.back() = false;
  EXPECT_LT(2 * GetParam().compile(*network, {.frozen = all_but_head})->workspace_bytes(),
            GetParam().compile(*network)->workspace_bytes());
}

TEST_P(Plans, NodesRunAloneAndAgain) {
  for (const char* name : {"chain", "lenet"}) {
    const auto network = network_called(name);
    const NetworkInputs inputs(*network, GetParam().samples, 23);
    const auto alone = GetParam().compile(*network, {.nodes_apart = true});
    const std::vector<float> expected = alone->run(inputs, first_parameters(*network)).gradients;
    EXPECT_EQ(alone->gradients_of_nodes(), expected) << name;
    EXPECT_LT(GetParam().compile(*network)->workspace_bytes(), alone->workspace_bytes()) << name;
    EXPECT_TRUE(alone->stayed_inside()) << name;
  }
}

/// A computed gradient would consist of rounding errors. The network has one layer for each kernel that
/// computes a bias gradient.
TEST_P(Plans, BiasBeforeBatchNormHasTheGradientZero) {
  Network network({3, 12, 12});
  Value x = network.input();
  for (const Conv2d& conv :
       {Conv2d{.channels = 5, .kernel = 3, .padding = 1, .name = "padded"},
        Conv2d{.channels = 16, .kernel = 5, .padding = 2, .name = "direct"},
        Conv2d{.channels = 32, .kernel = 3, .padding = 1, .name = "winograd"},
        Conv2d{.channels = 32, .kernel = 3, .padding = 1, .groups = 32, .name = "depthwise"},
        Conv2d{.channels = 32, .kernel = 3, .padding = 1, .groups = 2, .name = "grouped"},
        Conv2d{.channels = 32, .kernel = 1, .name = "flat"}}) {
    x = relu(batch_norm2d(conv2d(x, conv)));
  }
  x = relu(batch_norm2d(linear(flatten(x), Linear{.features = 8, .name = "linear"})));
  network.output(linear(x, Linear{.features = 4, .name = "logits"}));
  Graph computed = build_graph(network);
  for (GraphNode& node : computed.nodes) node.zero_bias_gradient = false;
  const std::vector<float> parameters = first_parameters(network);
  const NetworkInputs inputs(network, GetParam().samples, 29);
  const auto with_zeros = GetParam().compile(network), without = GetParam().compile(network, computed, {});
  const std::vector<float> actual = with_zeros->run(inputs, parameters).gradients;
  const std::vector<float> expected = without->run(inputs, parameters).gradients;
  const ArenaLayout layout = layout_arena(network.parameters());
  std::set<std::string> zeros;
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    const std::string& name = network.parameters()[p].name;
    for (std::size_t i = layout.offsets[p]; i < layout.end_of(p); ++i) {
      if (actual[i] == expected[i]) continue;
      zeros.insert(name);
      EXPECT_EQ(actual[i], 0.0F) << name;
      EXPECT_NEAR(expected[i], 0.0F, GetParam().type == cuda::Type::bf16 ? 1.0F : 1e-4F) << name;
    }
  }
  EXPECT_EQ(zeros, (std::set<std::string>{"padded.bias", "direct.bias", "winograd.bias", "depthwise.bias",
                                          "grouped.bias", "flat.bias", "linear.bias"}));
  EXPECT_TRUE(with_zeros->stayed_inside());
}

/// A network with 2^24 paths through layers without parameters.
TEST_P(Plans, ManyPathsTakeNoTime) {
  Network network({1, 8, 8});
  Value x = network.input();
  for (int i = 0; i < 24; ++i) x = x + x;
  network.output(flatten(adaptive_avg_pool2d(x)));
  const NetworkInputs inputs(network, GetParam().samples, 31);
  EXPECT_TRUE(GetParam().compile(network)->run(inputs, {}).gradients.empty());
}

/// Gradients that are reported as final during backward must not be written afterwards.
TEST(CudaPlan, SaysWhichGradientsAreWritten) {
  struct Parts {
    const char* network;
    int of_all, of_second_half;  ///< parts reported with no parameters frozen, and with the first half frozen
  };
  for (const Parts& parts :
       {Parts{"residual", 1, 1}, Parts{"resnet20", 2, 1}, Parts{"mlp:1500,1500,1500", 3, 2}}) {
    const auto network = network_called(parts.network);
    for (const bool half : {false, true}) {
      PlanOptions options{.samples = part};
      options.frozen.assign(network->parameters().size(), false);
      if (half) std::fill_n(options.frozen.begin(), options.frozen.size() / 2, true);
      NetworkOnCuda cuda(*network, options, cuda::Type::fp32);
      std::size_t end = cuda.layout().elements;
      int found = 0;
      cuda.ready = [&](cuda::StreamHandle stream, float* gradients, std::size_t begin) {
        ASSERT_LE(begin, end);
        cuda::fill(stream, gradients + begin, 7.0F, end - begin);
        if (begin < std::exchange(end, begin)) ++found;
      };
      const NetworkResults results = cuda.run(NetworkInputs(*network, part, 3), first_parameters(*network));
      EXPECT_EQ(end, 0U);
      EXPECT_EQ(found, half ? parts.of_second_half : parts.of_all) << parts.network;
      EXPECT_EQ(results.gradients, std::vector<float>(cuda.layout().elements, 7.0F));
    }
  }
}

TEST(CudaPlan, RefusesSizesThatItWasNotCompiledFor) {
  const auto network = network_called("mlp:30");
  NetworkOnCuda cuda(*network, {.samples = full}, cuda::Type::fp32);
  const NetworkInputs inputs(*network, part, 1);
  EXPECT_THROW(cuda.run(inputs, first_parameters(*network)), Error);
  EXPECT_THROW(cuda.plan().compile_for(full + 1), Error);
  EXPECT_THROW(cuda.plan().compile_for(0), Error);
}

}  // namespace
}  // namespace lockstep::test
