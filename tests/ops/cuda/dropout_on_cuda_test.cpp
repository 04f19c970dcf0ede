#include "ops/cuda/run_small_op.h"

namespace lockstep::testing {
namespace {

using cuda::Type;

constexpr int position = 9;

cuda::Op plan_at_position(const cuda::OpRequest& request) {
  cuda::OpRequest placed = request;
  placed.position = position;
  return cuda::plan_op(placed);
}

/// Results of the CPU.
SmallOpResults run_on_cpu(const OpCase& op_case, const Tensor& input, const Tensor& grad_output,
                          const std::vector<std::uint64_t>& ids, RandomKey random) {
  const cpu::Op op = cpu::plan_op({.node = op_case.node,
                                   .inputs = op_case.inputs,
                                   .samples = input.samples,
                                   .training = true,
                                   .input_gradient = true,
                                   .level = cpu::best_level(),
                                   .position = position});
  Lanes saved(op.saved_bytes / sizeof(float) + 1);
  const Lanes lanes = to_lanes(input);
  const Lanes grad = to_lanes(grad_output);
  Lanes output(lanes.size());
  Lanes grad_input(lanes.size());
  cpu::OpMemory memory;
  memory.samples = input.samples;
  memory.inputs[0] = lanes.data();
  memory.output = output.data();
  memory.saved = reinterpret_cast<std::byte*>(saved.data());
  memory.ids = ids.data();
  memory.random = &random;
  op.forward(memory);
  memory.grad_output = grad.data();
  memory.grad_inputs[0] = grad_input.data();
  op.backward(memory);
  return {from_lanes(output, input.samples, input.shape), from_lanes(grad_input, input.samples, input.shape)};
}

TEST(DropoutOnCuda, DropsWhatTheCpuDrops) {
  const std::vector<std::uint64_t> ids = {
      0, 59999, (7ULL << 32) + 3, 12, 13, 14, 15, 16, 17, 4, 5, 6, 1, 2, 3, 8, 9};
  const RandomKey random{.seed = 0x123456789abcdefULL, .epoch = 4};
  const DeviceMemory ids_on_device = on_device(ids), random_on_device = on_device(std::vector{random});
  for (const Shape shape : {Shape{1, 1, 1}, {37, 1, 1}, {128, 1, 1}, {5, 3, 4}, {8, 2, 2}, {17, 1, 5}}) {
    const OpCase op_case = simple_case("Dropout", Dropout{.p = 0.3}, shape, shape);
    const OpInputs values = random_inputs(op_case, static_cast<int>(ids.size()));
    for (const Type type : {Type::fp32, Type::bf16}) {
      const Tensor input = rounded(values.inputs[0], type);
      const Tensor grad = rounded(values.grad_output, type);
      const SmallOpResults expected = run_on_cpu(op_case, input, grad, ids, random);
      cuda::OpMemory memory;
      memory.ids = reinterpret_cast<const std::uint64_t*>(ids_on_device.data());
      memory.random = reinterpret_cast<const RandomKey*>(random_on_device.data());
      const SmallOpResults actual = run_small_op(plan_at_position, op_case, input, grad, type, memory);
      const std::string where = "channels " + std::to_string(shape.channels);
      expect_same(actual.output, expected.output, type, where + ", output");
      expect_same(actual.grad_input, expected.grad_input, type, where + ", gradient");
    }
  }
}

TEST(DropoutOnCuda, PassesAllInEvaluation) {
  const OpCase op_case = simple_case("Dropout", Dropout{.p = 0.5}, {5, 2, 3}, {5, 2, 3});
  const OpInputs values = random_inputs(op_case, 3);
  const PaddedTensor output = run_in_evaluation(cuda::plan_op, op_case, values.inputs[0], Type::fp32);
  expect_same(output.values(), values.inputs[0], Type::fp32, "output");
  EXPECT_TRUE(output.padding_is_zero() && output.end_intact());
}

}  // namespace
}  // namespace lockstep::testing
