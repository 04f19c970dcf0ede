#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "ops/cuda/op.h"
#include "ops/cuda/padded_tensor.h"
#include "ops/op_case.h"
#include "ops/run_op.h"

namespace lockstep::testing {

/// Results of an operation with one input and no parameters.
struct SmallOpResults {
  Tensor output;
  Tensor grad_input;
};

using PlanSmallOp = cuda::Op (*)(const cuda::OpRequest&);

/// Runs forward and backward. `type` must represent `input` and `grad_output` exactly. `memory`: further
/// members that the operation needs.
inline SmallOpResults run_small_op(PlanSmallOp plan, const OpCase& op_case, const Tensor& input,
                                   const Tensor& grad_output, cuda::Type type, cuda::OpMemory memory = {}) {
  const int samples = input.samples;
  const cuda::Op op = plan({.node = op_case.node,
                            .inputs = op_case.inputs,
                            .samples = samples,
                            .training = true,
                            .input_gradient = true,
                            .type = type,
                            .dnn = dnn_under_test()});
  const PaddedTensor padded(type, input), grad(type, grad_output);
  const PaddedTensor unread(type, samples, input.shape), grad_input(type, samples, input.shape);
  const PaddedTensor output(type, samples, grad_output.shape),
      unread_output(type, samples, grad_output.shape);
  const DeviceMemory saved(op.saved_bytes);
  run_on_device([&](cuda::StreamHandle stream) {
    memory.stream = stream;
    memory.inputs[0] = padded.data();
    memory.output = output.data();
    memory.saved = saved.data();
    op.forward(memory);
    memory.inputs[0] = op.backward_reads_inputs ? padded.data() : unread.data();
    memory.output = op.backward_reads_output ? output.data() : unread_output.data();
    memory.grad_output = grad.data();
    op.backward(memory);  // without the gradient of the input
    memory.grad_inputs[0] = grad_input.data();
    op.backward(memory);
  });
  EXPECT_TRUE(output.padding_is_zero() && grad_input.padding_is_zero()) << op_case.name;
  EXPECT_TRUE(output.end_intact() && grad_input.end_intact() && saved.end_intact()) << op_case.name;
  return {output.values(), grad_input.values()};
}

/// Runs forward of an operation planned for evaluation, which must save nothing.
inline PaddedTensor run_in_evaluation(PlanSmallOp plan, const OpCase& op_case, const Tensor& input,
                                      cuda::Type type) {
  const cuda::Op op = plan({.node = op_case.node,
                            .inputs = op_case.inputs,
                            .samples = input.samples,
                            .training = false,
                            .input_gradient = false,
                            .type = type,
                            .dnn = dnn_under_test()});
  EXPECT_EQ(op.saved_bytes, 0U);
  const PaddedTensor padded(type, input);
  PaddedTensor output(type, input.samples, op_case.node.shape);
  run_on_device([&](cuda::StreamHandle stream) {
    cuda::OpMemory memory;
    memory.stream = stream;
    memory.inputs[0] = padded.data();
    memory.output = output.data();
    op.forward(memory);
  });
  return output;
}

/// Expects the values of `expected` rounded to `type`.
inline void expect_same(const Tensor& actual, const Tensor& expected, cuda::Type type,
                        const std::string& what) {
  ASSERT_EQ(actual.values.size(), expected.values.size()) << what;
  for (std::size_t i = 0; i < actual.values.size(); ++i) {
    const double wanted = rounded(expected.values[i], type);
    ASSERT_TRUE(same_number(actual.values[i], wanted))
        << what << ", element " << i << ": " << actual.values[i] << " instead of " << wanted;
  }
}

/// Expects the CPU's results rounded to `type`.
inline void expect_as_on_cpu(PlanSmallOp plan, const OpCase& op_case, const Tensor& given_input,
                             const Tensor& given_grad, cuda::Type type) {
  OpInputs values;
  values.inputs[0] = rounded(given_input, type);
  values.grad_output = rounded(given_grad, type);
  const OpResults cpu = run_op(op_case, values, cpu::best_level());
  const SmallOpResults cuda = run_small_op(plan, op_case, values.inputs[0], values.grad_output, type);
  const std::string where = op_case.name + ", " + std::to_string(given_input.samples) + " samples, " +
                            (type == cuda::Type::bf16 ? "bf16" : "fp32");
  expect_same(cuda.output, from_lanes(cpu.output, given_input.samples, op_case.node.shape), type,
              where + ", output");
  expect_same(cuda.grad_input, from_lanes(cpu.grad_inputs[0], given_input.samples, op_case.inputs[0]), type,
              where + ", gradient");
}

}  // namespace lockstep::testing
