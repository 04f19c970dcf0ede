#pragma once

#include "ops/op_inputs.h"

namespace lockstep::test {

/// Results of a convolution without groups or epilogue, in the order of additions that
/// ops/cpu/convolution/kernels/bf16_product.h defines, except the gradient of the bias. Inputs, weights and
/// gradients must be representable in bf16.
OpValues bf16_product_values(const OpCase& op_case, const OpInputs& values);

}  // namespace lockstep::test
