#include "ops/op_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace lockstep::test {

OpInputs random_inputs(const OpCase& op_case, int samples, unsigned seed) {
  std::mt19937 generator(seed);
  const auto fill = [&](std::vector<double>& values, double scale) {
    for (double& value : values) {
      const auto uniform = static_cast<double>(generator()) / 4294967296.0 - 0.5;
      value = static_cast<double>(static_cast<float>(uniform * scale));
    }
  };
  OpInputs result;
  for (std::size_t k = 0; k < max_inputs; ++k) {
    if (op_case.inputs[k].channels > 0) {
      result.inputs[k] = Tensor(samples, op_case.inputs[k]);
      fill(result.inputs[k].values, 2.0 * op_case.range);
    }
  }
  for (std::size_t k = 0; k < max_parameters; ++k) {
    result.parameters[k].resize(op_case.parameter_sizes()[k]);
    fill(result.parameters[k], 1.0);
  }
  result.grad_output = Tensor(samples, op_case.node.shape);
  fill(result.grad_output.values, 2.0);
  return result;
}

OpValues reference_values(const OpCase& op_case, const OpInputs& values) {
  const Reference reference(op_case.node, values.inputs, values.parameters);
  OpValues results{.output = reference.output};
  reference.backward(values.parameters, values.grad_output, results.grad_inputs, results.grad_parameters);
  return results;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 1e-3;
  for (const double value : expected) {
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << what << ", element " << i;
  }
}

void expect_near(const OpCase& op_case, const OpValues& actual, const OpValues& expected, double tolerance,
                 const std::string& where) {
  expect_near(actual.output.values, expected.output.values, tolerance, where + ", output");
  for (std::size_t k = 0; op_case.input_gradient && k < max_inputs; ++k) {
    expect_near(actual.grad_inputs[k].values, expected.grad_inputs[k].values, tolerance,
                where + ", gradient of input " + std::to_string(k));
  }
  for (std::size_t k = 0; k < max_parameters; ++k) {
    expect_near(actual.grad_parameters[k], expected.grad_parameters[k], tolerance,
                where + ", gradient of parameter " + std::to_string(k));
  }
}

}  // namespace lockstep::test
