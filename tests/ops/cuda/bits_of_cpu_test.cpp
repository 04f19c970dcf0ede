// Operations without parameters, whose results on the CUDA backend are bit-identical to the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/random/philox.h"
#include "ops/cuda/run_cuda_op.h"
#include "ops/run_op.h"

namespace lockstep::test {
namespace {

using cuda::Type;

/// Settings of an operation in addition to its inputs, equivalent on the CPU and the GPU.
struct OpSurroundings {
  int position = 0;
  cpu::OpMemory on_cpu{};
  cuda::OpMemory on_cuda{};
};

/// Expects the CPU's results rounded to `type`.
void expect_as_on_cpu(const OpCase& op_case, OpInputs values, Type type, const OpSurroundings& given = {}) {
  const int samples = values.inputs[0].samples;
  round_to(type, values.inputs[0].values);
  round_to(type, values.grad_output.values);
  const OpResults cpu =
      run_op(op_case, values, cpu::best_level(), {.position = given.position, .memory = given.on_cpu});
  const OpValues expected = cpu.values(op_case, samples);
  const OpValues actual = run_cuda_op(op_case, values, type, given.position, given.on_cuda);
  const std::string where = op_case.name + ", " + std::to_string(op_case.inputs[0].channels) + " channels, " +
                            std::to_string(samples) + " samples, " + name_of(type);
  expect_same(actual.output, expected.output, type, where + ", output");
  expect_same(actual.grad_inputs[0], expected.grad_inputs[0], type, where + ", gradient");
}

OpCase activation_of(Activation::Kind kind, Shape shape) {
  constexpr std::array names = {"Relu", "Relu6", "Silu", "Gelu"};
  const std::string name = names.at(static_cast<std::size_t>(kind));
  return activation_case(name + "Of" + std::to_string(shape.channels), kind, 9, shape);
}

constexpr std::array kinds = {Activation::Kind::relu, Activation::Kind::relu6, Activation::Kind::silu,
                              Activation::Kind::gelu};

/// Pooling cases of the table of operations, and various numbers of channels.
std::vector<OpCase> cases() {
  std::vector<OpCase> cases;
  for (const OpCase& each : op_cases()) {
    if (is_pool(each.node.operation)) cases.push_back(each);
  }
  for (const int channels : {1, 7, 8, 9, 20, 64}) {
    const std::string number = std::to_string(channels);
    cases.push_back(
        simple_case("Max" + number, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}, {{channels, 9, 8}}));
    cases.push_back(simple_case("Avg" + number, AvgPool2d{.kernel = 2, .stride = 2}, {{channels, 6, 4}}));
    cases.push_back(simple_case("Adaptive" + number, AdaptiveAvgPool2d{}, {{channels, 7, 5}}));
  }
  cases.push_back(simple_case("MaxSixteen", MaxPool2d{.kernel = 16, .stride = 3}, {{3, 22, 19}}));
  cases.push_back(
      simple_case("MaxSeventeen", MaxPool2d{.kernel = 17, .stride = 2, .padding = 8}, {{2, 18, 20}}));
  cases.push_back(simple_case("MaxSparse", MaxPool2d{.kernel = 2, .stride = 3}, {{9, 8, 9}}));
  cases.push_back(
      simple_case("MaxOverlapping", MaxPool2d{.kernel = 5, .stride = 1, .padding = 2}, {{10, 5, 6}}));
  cases.push_back(simple_case("AvgOfLargeWindows", AvgPool2d{.kernel = 33, .stride = 2}, {{2, 40, 39}}));
  for (const Activation::Kind kind : kinds) {
    for (const Shape shape : {Shape{1, 3, 2}, {7, 2, 2}, {8, 1, 1}, {9, 4, 3}, {50, 1, 1}}) {
      cases.push_back(activation_of(kind, shape));
    }
  }
  return cases;
}

class BitsOfCpu : public ::testing::TestWithParam<OpCase> {};
INSTANTIATE_TEST_SUITE_P(Table, BitsOfCpu, ::testing::ValuesIn(cases()),
                         [](const auto& row) { return row.param.name; });

TEST_P(BitsOfCpu, OfRandomValues) {
  for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
    for (const int samples : {1, 3, 17})
      expect_as_on_cpu(GetParam(), random_inputs(GetParam(), samples), type);
  }
}

/// Few distinct values, so that most windows have several maxima; the first one receives the gradient.
TEST_P(BitsOfCpu, OfEqualValues) {
  OpInputs values = random_inputs(GetParam(), 5);
  for (double& value : values.inputs[0].values) value = std::round(value);
  for (const Type type : {Type::fp32, Type::bf16}) expect_as_on_cpu(GetParam(), values, type);
}

TEST_P(BitsOfCpu, OfNanAndInfinity) {
  OpInputs values = random_inputs(GetParam(), 2);
  const std::vector<double> rare = {std::nan(""), std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < values.inputs[0].values.size(); i += 2 + i % 7) {
    values.inputs[0].values[i] = rare[i % 3];
  }
  expect_as_on_cpu(GetParam(), values, Type::fp32);
  std::ranges::fill(values.inputs[0].values, rare[2]);
  expect_as_on_cpu(GetParam(), values, Type::bf16);
}

/// Floats with every sign, exponent and leading 7 mantissa bits, including NaN, infinities and denormals: all
/// bf16 values.
TEST(ActivationOnCuda, HasTheBitsOfTheCpuForFloatsOfEverySize) {
  for (const Type type : {Type::fp32, Type::bf16}) {
    for (const Activation::Kind kind : kinds) {
      const OpCase op_case = activation_of(kind, {256, 4, 4});
      OpInputs values = random_inputs(op_case, 16);
      for (std::uint32_t i = 0; i < 65536; ++i) {
        const std::uint32_t rest = type == Type::fp32 ? philox(1, {i, 0, 0, 0})[0] & 0xffffU : 0U;
        values.inputs[0].values[i] = static_cast<double>(std::bit_cast<float>(i << 16 | rest));
      }
      expect_as_on_cpu(op_case, values, type);
    }
  }
}

TEST(DropoutOnCuda, DropsWhatTheCpuDrops) {
  const std::vector<std::uint64_t> ids = {
      0, 59999, (7ULL << 32) + 3, 12, 13, 14, 15, 16, 17, 4, 5, 6, 1, 2, 3, 8, 9};
  const RandomKey random{.seed = 0x123456789abcdefULL, .epoch = 4};
  const DeviceMemory ids_on_device = on_device(ids), random_on_device = on_device(std::vector{random});
  OpSurroundings given{.position = 9};
  given.on_cpu.ids = ids.data();
  given.on_cpu.random = &random;
  given.on_cuda.ids = reinterpret_cast<const std::uint64_t*>(ids_on_device.data());
  given.on_cuda.random = reinterpret_cast<const RandomKey*>(random_on_device.data());
  for (const Shape shape : {Shape{1, 1, 1}, {37, 1, 1}, {128, 1, 1}, {5, 3, 4}, {8, 2, 2}, {17, 1, 5}}) {
    const OpCase op_case = simple_case("Dropout", Dropout{.p = 0.3}, {shape});
    const OpInputs values = random_inputs(op_case, static_cast<int>(ids.size()));
    for (const Type type : {Type::fp32, Type::bf16}) expect_as_on_cpu(op_case, values, type, given);
  }
}

TEST(InEvaluation, NothingIsDroppedOrSaved) {
  for (const OpCase& op_case : {simple_case("Dropout", Dropout{.p = 0.5}, {{5, 2, 3}}),
                                simple_case("Max", MaxPool2d{.kernel = 2, .stride = 2}, {{3, 4, 4}})}) {
    const OpInputs values = random_inputs(op_case, 3);
    const cuda::Op op = cuda::plan_op({.node = op_case.node,
                                       .inputs = op_case.inputs,
                                       .samples = 3,
                                       .training = false,
                                       .input_gradient = false,
                                       .type = Type::fp32,
                                       .dnn = dnn_under_test()});
    EXPECT_EQ(op.saved_bytes, 0U);
    const PaddedTensor padded(Type::fp32, values.inputs[0]);
    const PaddedTensor output(Type::fp32, 3, op_case.node.shape);
    run_on_device([&](cuda::StreamHandle stream) {
      cuda::OpMemory memory;
      memory.stream = stream;
      memory.inputs[0] = padded.data();
      memory.output = output.data();
      op.forward(memory);
    });
    const bool drops = op_case.name == "Dropout";
    const Tensor expected = drops ? values.inputs[0] : Reference(op_case.node, values.inputs, {}).output;
    expect_same(output.values(), expected, Type::fp32, op_case.name);
    EXPECT_TRUE(output.padding_is_zero() && output.end_intact()) << op_case.name;
  }
}

}  // namespace
}  // namespace lockstep::test
