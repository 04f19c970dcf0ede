#pragma once

#include <string>
#include <vector>

#include "ops/op_case.h"
#include "ops/reference.h"

namespace lockstep::test {

/// Inputs of an operation.
struct OpInputs {
  Tensors inputs;
  Parameters parameters;
  Tensor grad_output;
};

/// Random inputs that are exact in float.
OpInputs random_inputs(const OpCase& op_case, int samples, unsigned seed = 1);

/// Results of an operation.
struct OpValues {
  Tensor output = {};
  Tensors grad_inputs = {};
  Parameters grad_parameters = {};
};

OpValues reference_values(const OpCase& op_case, const OpInputs& values);

/// Results of a convolution without groups or epilogue, in the order of additions that
/// ops/cpu/convolution/kernels/bf16_product.h defines, except the gradient of the bias. Inputs, weights and
/// gradients must be representable in bf16.
OpValues bf16_product_values(const OpCase& op_case, const OpInputs& values);

/// Expects a largest difference of at most `tolerance` times the largest expected value.
void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance,
                 const std::string& what);
void expect_near(const OpCase& op_case, const OpValues& actual, const OpValues& expected, double tolerance,
                 const std::string& where);

}  // namespace lockstep::test
