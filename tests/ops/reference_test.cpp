#include "ops/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/op_inputs.h"

namespace lockstep::test {
namespace {

/// Sum of grad_output * output: the scalar whose gradient backward computes.
double objective(const OpCase& op_case, const OpInputs& values) {
  const Reference reference(op_case.node, values.inputs, values.parameters);
  double sum = 0;
  for (std::size_t i = 0; i < reference.output.values.size(); ++i) {
    sum += reference.output.values[i] * values.grad_output.values[i];
  }
  return sum;
}

/// Compares some elements of `gradient` with central differences of the objective. Large operations take a
/// thousand times longer, so fewer of their elements are compared.
void check(const OpCase& op_case, OpInputs& values, std::vector<double>& variable,
           const std::vector<double>& gradient) {
  const double step = 1e-8;  // too small to change the sign at any ReLU
  const std::size_t elements = values.inputs[0].values.size() > 1000 ? 2 : 7;
  const std::size_t stride = std::max<std::size_t>(1, variable.size() / elements);
  for (std::size_t i = 0; i < variable.size(); i += stride) {
    const double before = variable[i];
    variable[i] = before + step;
    const double above = objective(op_case, values);
    variable[i] = before - step;
    const double below = objective(op_case, values);
    variable[i] = before;
    EXPECT_NEAR((above - below) / (2 * step), gradient[i], 1e-4 * (1 + std::abs(gradient[i])))
        << op_case.name << " element " << i;
  }
}

TEST(Reference, GradientsAreFiniteDifferences) {
  for (const OpCase& op_case : op_cases()) {
    OpInputs values = random_inputs(op_case, 2);
    const OpValues results = reference_values(op_case, values);
    for (std::size_t k = 0; k < max_inputs; ++k) {
      check(op_case, values, values.inputs[k].values, results.grad_inputs[k].values);
    }
    for (std::size_t k = 0; k < 2; ++k) {  // running statistics have no gradient
      check(op_case, values, values.parameters[k], results.grad_parameters[k]);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
