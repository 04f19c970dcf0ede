#include "ops/cuda/as_on_cpu.h"

namespace lockstep::testing {
namespace {

using cuda::Type;

OpCase pool_case(const std::string& name, Operation pool, Shape input, int height, int width) {
  return simple_case(name, pool, input, {input.channels, height, width});
}

/// Cases of the table of operations, and various numbers of channels.
std::vector<OpCase> pool_cases() {
  std::vector<OpCase> cases;
  for (const OpCase& each : op_cases()) {
    if (is_pool(each.node.operation)) cases.push_back(each);
  }
  for (const int channels : {1, 7, 8, 9, 20, 64}) {
    const std::string number = std::to_string(channels);
    cases.push_back(
        pool_case("Max" + number, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}, {channels, 9, 8}, 5, 4));
    cases.push_back(pool_case("Avg" + number, AvgPool2d{.kernel = 2, .stride = 2}, {channels, 6, 4}, 3, 2));
    cases.push_back(pool_case("Adaptive" + number, AdaptiveAvgPool2d{}, {channels, 7, 5}, 1, 1));
  }
  cases.push_back(pool_case("MaxSixteen", MaxPool2d{.kernel = 16, .stride = 3}, {3, 22, 19}, 3, 2));
  cases.push_back(
      pool_case("MaxSeventeen", MaxPool2d{.kernel = 17, .stride = 2, .padding = 8}, {2, 18, 20}, 9, 10));
  cases.push_back(pool_case("MaxSparse", MaxPool2d{.kernel = 2, .stride = 3}, {9, 8, 9}, 3, 3));
  cases.push_back(
      pool_case("MaxOverlapping", MaxPool2d{.kernel = 5, .stride = 1, .padding = 2}, {10, 5, 6}, 5, 6));
  return cases;
}

class PoolOnCuda : public ::testing::TestWithParam<OpCase> {};

TEST_P(PoolOnCuda, HasTheBitsOfTheCpu) {
  for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
    for (const int samples : {1, 3, 17}) {
      const OpInputs values = random_inputs(GetParam(), samples);
      expect_as_on_cpu(GetParam(), values.inputs[0], values.grad_output, type);
    }
  }
}

/// Few different values, so that most windows have several largest ones; the first takes the gradient.
TEST_P(PoolOnCuda, TakesTheFirstOfEquals) {
  OpInputs values = random_inputs(GetParam(), 5);
  for (double& value : values.inputs[0].values) value = std::round(value);
  for (const Type type : {Type::fp32, Type::bf16}) {
    expect_as_on_cpu(GetParam(), values.inputs[0], values.grad_output, type);
  }
}

TEST_P(PoolOnCuda, TreatsNanAndInfinityAsTheCpuDoes) {
  OpInputs values = random_inputs(GetParam(), 2);
  const std::vector<double> rare = {std::nan(""), std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < values.inputs[0].values.size(); i += 2 + i % 7) {
    values.inputs[0].values[i] = rare[i % 3];
  }
  expect_as_on_cpu(GetParam(), values.inputs[0], values.grad_output, Type::fp32);
  std::fill(values.inputs[0].values.begin(), values.inputs[0].values.end(), rare[2]);
  expect_as_on_cpu(GetParam(), values.inputs[0], values.grad_output, Type::bf16);
}

INSTANTIATE_TEST_SUITE_P(Table, PoolOnCuda, ::testing::ValuesIn(pool_cases()),
                         [](const auto& row) { return row.param.name; });

TEST(MaxPoolOnCuda, RemembersNothingInEvaluation) {
  const OpCase op_case = pool_case("Max", MaxPool2d{.kernel = 2, .stride = 2}, {3, 4, 4}, 2, 2);
  const OpInputs values = random_inputs(op_case, 2);
  const PaddedTensor output = run_in_evaluation(op_case, values.inputs[0], Type::fp32);
  const Reference reference(op_case.node, values.inputs, {});
  expect_same(output.values(), reference.output, Type::fp32, "output");
}

}  // namespace
}  // namespace lockstep::testing
