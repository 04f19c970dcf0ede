#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ops/cuda/run_cuda_op.h"
#include "ops/run_op.h"

namespace lockstep::testing {

/// Runs forward of an operation planned for evaluation, which must save nothing.
inline PaddedTensor run_in_evaluation(const OpCase& op_case, const Tensor& input, cuda::Type type) {
  const cuda::Op op = cuda::plan_op({.node = op_case.node,
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

/// Settings of an operation besides its inputs, the same for the CPU and the GPU.
struct OpSurroundings {
  int position = 0;
  cpu::OpMemory on_cpu{};
  cuda::OpMemory on_cuda{};
};

/// Expects the CPU's results rounded to `type` of an operation with one input and no parameters.
inline void expect_as_on_cpu(const OpCase& op_case, const Tensor& input, const Tensor& grad_output,
                             cuda::Type type, const OpSurroundings& given = {}) {
  OpInputs values;
  values.inputs[0] = rounded(input, type);
  values.grad_output = rounded(grad_output, type);
  const OpValues cpu = run_op(op_case, values, cpu::best_level(), 0, given.position, given.on_cpu)
                           .values(op_case, input.samples);
  const OpValues cuda = run_cuda_op(op_case, values, type, given.position, given.on_cuda);
  const std::string where = op_case.name + ", " + std::to_string(input.shape.channels) + " channels, " +
                            std::to_string(input.samples) + " samples, " +
                            (type == cuda::Type::bf16 ? "bf16" : "fp32");
  expect_same(cuda.output, cpu.output, type, where + ", output");
  expect_same(cuda.grad_inputs[0], cpu.grad_inputs[0], type, where + ", gradient");
}

}  // namespace lockstep::testing
