// Compares whole networks on the CUDA backend with the CPU's plans.
#include <gtest/gtest.h>

#include <cmath>

#include "gradient/cuda/fold.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "run_network.h"

namespace lockstep::testing {
namespace {

constexpr int full = 6;
constexpr int part = 5;

/// Network with odd channels, strides, groups, fused and other additions, several readers of a value,
/// concatenation, and biases before batch norm, whose gradient is zero.
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

/// Network with pooling by three and by two after convolutions with ReLU.
std::unique_ptr<Network> averaging_network() {
  auto network = std::make_unique<Network>(Shape{3, 12, 12});
  const Value x =
      avg_pool2d(relu(conv2d(network->input(), {.channels = 5, .kernel = 3, .padding = 1})), {.kernel = 3});
  const Value y = avg_pool2d(relu(conv2d(x, {.channels = 6, .kernel = 3, .padding = 1})), {.kernel = 2});
  network->output(linear(flatten(y), 10));
  return network;
}

std::unique_ptr<Network> network_called(const std::string& name) {
  if (name == "residual") return residual_network();
  if (name == "averaging") return averaging_network();
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

/// Expects that each parameter's gradient has a relative distance below `tolerance`.
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
  /// Relative distance. fp32: of each parameter's gradient. bf16: of all gradients together, since rounding
  /// may switch a ReLU and change gradients of few samples by tenths. ops_test.cpp compares single operations
  /// closely.
  double tolerance;

  double loss_tolerance() const { return type == cuda::Type::bf16 ? 2e-2 : 1e-4; }
};
void PrintTo(const NetworkCase& each, std::ostream* stream) { *stream << each.name; }

class CudaNetworks : public ::testing::TestWithParam<NetworkCase> {};

TEST_P(CudaNetworks, EqualTheCpu) {
  const auto network = network_called(GetParam().name);
  const std::vector<float> parameters = first_parameters(*network);
  const PlanOptions options{.samples = full, .label_smoothing = 0.1F};
  NetworkOnCuda cuda(*network, options, GetParam().type, {part, 1});
  for (const int samples : {full, part, 1, full}) {  // in the same memory
    const NetworkInputs inputs(*network, samples, 11);
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
  const auto network = network_called(GetParam().name);
  const std::vector<float> parameters = first_parameters(*network);
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

/// Needs a network in which no node adds to the output of another, unlike residual networks.
TEST(CudaPlan, RunsNodesAloneAndAgain) {
  for (const cuda::Type type : {cuda::Type::fp32, cuda::Type::bf16}) {
    const auto network = network_called("lenet");
    const NetworkInputs inputs(*network, full, 23);
    NetworkOnCuda cuda(*network, {.samples = full, .nodes_apart = true}, type);
    const std::vector<float> expected = cuda.run(inputs, first_parameters(*network)).gradients;
    EXPECT_EQ(cuda.gradients_of_nodes(), expected);
    EXPECT_TRUE(cuda.stayed_inside());
  }
}

TEST_P(CudaNetworks, EvaluateAsTheCpu) {
  const auto network = network_called(GetParam().name);
  const std::vector<float> parameters = first_parameters(*network);
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
    {"resnet20", cuda::Type::fp32, 1e-3}};
INSTANTIATE_TEST_SUITE_P(Table, CudaNetworks, ::testing::ValuesIn(network_cases), [](const auto& row) {
  std::string name = row.param.name;
  std::erase(name, ':');
  return name + (row.param.type == cuda::Type::bf16 ? "Bf16" : "Fp32");
});

TEST(CudaPlan, MixesSamplesAsTheCpu) {
  const auto network = network_called("mlp:30");
  const std::vector<float> parameters = first_parameters(*network);
  const PlanOptions options{.samples = full};
  const NetworkInputs inputs(*network, full, 17, true);
  const NetworkResults expected = run_on_cpu(*network, options, inputs, parameters);
  const NetworkResults actual = NetworkOnCuda(*network, options, cuda::Type::fp32).run(inputs, parameters);
  EXPECT_NEAR(actual.leaf.loss, expected.leaf.loss, 1e-5 * expected.leaf.loss);
  expect_same_gradients(*network, actual.gradients, expected.gradients, 1e-5, "");
}

/// More layers than one kernel can pad, or finish the gradients of.
TEST(CudaPlan, OfManyLayersEqualsTheCpu) {
  Network network({9, 1, 1});
  Value x = network.input();
  for (int i = 0; i < 60; ++i) x = linear(x, 9 + i % 3);
  network.output(x);
  const std::vector<float> parameters = first_parameters(network);
  const PlanOptions options{.samples = full};
  const NetworkInputs inputs(network, full, 23);
  const NetworkResults expected = run_on_cpu(network, options, inputs, parameters);
  NetworkOnCuda cuda(network, options, cuda::Type::fp32);
  const NetworkResults actual = cuda.run(inputs, parameters);
  expect_same_gradients(network, actual.gradients, expected.gradients, 1e-4, "");
  EXPECT_TRUE(cuda.stayed_inside());
}

/// Freezing changes no other gradients; those of frozen parameters are unchanged or zero.
TEST(CudaPlan, FreezesParameters) {
  const auto network = residual_network();
  const std::vector<float> parameters = first_parameters(*network);
  const NetworkInputs inputs(*network, full, 19);
  NetworkOnCuda free(*network, {.samples = full}, cuda::Type::fp32);
  const std::vector<float> expected = free.run(inputs, parameters).gradients;
  for (std::size_t count = 1; count < network->parameters().size(); count += 4) {
    PlanOptions options{.samples = full};
    options.frozen.assign(network->parameters().size(), false);
    std::fill_n(options.frozen.begin(), count, true);
    NetworkOnCuda frozen(*network, options, cuda::Type::fp32);
    const std::vector<float> actual = frozen.run(inputs, parameters).gradients;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const bool may_be_cleared = i < free.layout().offsets[count];
      ASSERT_TRUE(actual[i] == expected[i] || (may_be_cleared && actual[i] == 0.0F)) << "element " << i;
    }
    EXPECT_LE(frozen.plan().workspace_bytes(), free.plan().workspace_bytes());
  }
}

/// Whether only biases before a batch norm differ from the gradients that are computed.
TEST(CudaPlan, BiasBeforeBatchNormHasTheGradientZero) {
  Network network({3, 8, 8});
  Value x = network.input();
  x = relu(batch_norm2d(conv2d(x, {.channels = 5, .kernel = 3, .padding = 1, .name = "padded"})));
  x = relu(batch_norm2d(conv2d(x, {.channels = 16, .kernel = 3, .padding = 1, .name = "wide"})));
  x = relu(batch_norm2d(conv2d(x, {.channels = 16, .kernel = 1, .name = "in_arena"})));
  x = relu(batch_norm2d(linear(flatten(x), Linear{.features = 24, .name = "linear"})));
  network.output(linear(x, Linear{.features = 10, .name = "logits"}));
  const std::vector<std::string> zeros{"padded.bias", "wide.bias", "in_arena.bias", "linear.bias"};
  Graph computed = build_graph(network);
  for (GraphNode& node : computed.nodes) node.zero_bias_gradient = false;
  const std::vector<float> parameters = first_parameters(network);
  const NetworkInputs inputs(network, full, 29);
  for (const cuda::Type type : {cuda::Type::fp32, cuda::Type::bf16}) {
    NetworkOnCuda cuda(network, {.samples = full}, type);
    std::vector<float> expected =
        NetworkOnCuda(network, computed, {.samples = full}, type).run(inputs, parameters).gradients;
    for (std::size_t p = 0; p < network.parameters().size(); ++p) {
      const Parameter& parameter = network.parameters()[p];
      if (std::ranges::count(zeros, parameter.name) == 0) continue;
      const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(cuda.layout().offsets[p]);
      EXPECT_NE(std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(parameter.size())),
                std::vector<float>(parameter.size(), 0.0F))
          << parameter.name;
      std::fill_n(begin, parameter.size(), 0.0F);
    }
    EXPECT_EQ(cuda.run(inputs, parameters).gradients, expected);
    EXPECT_TRUE(cuda.stayed_inside());
  }
}

/// Gradients that are reported final during backward must not be written later.
TEST(CudaPlan, SaysWhichGradientsAreWritten) {
  struct Parts {
    const char* network;
    int of_all, of_second_half;  ///< parts reported with none and with the first half of parameters frozen
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
}  // namespace lockstep::testing
