#include <cstring>

#include "core/random/philox.h"
#include "ops/cuda/run_small_op.h"

namespace lockstep::testing {
namespace {

using cuda::Type;

constexpr std::array kinds = {Activation::Kind::relu, Activation::Kind::relu6, Activation::Kind::silu,
                              Activation::Kind::gelu};

std::string name_of(Activation::Kind kind) {
  constexpr std::array names = {"Relu", "Relu6", "Silu", "Gelu"};
  return names.at(static_cast<std::size_t>(kind));
}

OpCase activation_of(Activation::Kind kind, Shape shape) {
  return simple_case(name_of(kind), Activation{kind}, shape, shape);
}

TEST(ActivationOnCuda, HasTheBitsOfTheCpu) {
  for (const Activation::Kind kind : kinds) {
    for (const Shape shape : {Shape{1, 3, 2}, {7, 2, 2}, {8, 1, 1}, {9, 4, 3}, {50, 1, 1}}) {
      OpCase op_case = activation_of(kind, shape);
      op_case.range = 9;
      for (const int samples : {1, 3, 17}) {
        const OpInputs values = random_inputs(op_case, samples);
        for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
          expect_as_on_cpu(cuda::plan_op, op_case, values.inputs[0], values.grad_output, type);
        }
      }
    }
  }
}

/// Floats with every sign, exponent and leading 7 bits, including NaN, infinities and denormal numbers.
Tensor every_leading_half(bool random_rest) {
  Tensor tensor(16, {256, 4, 4});
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const std::uint32_t rest = random_rest ? philox(1, {i, 0, 0, 0})[0] & 0xffffU : 0U;
    const std::uint32_t bits = i << 16 | rest;
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof value);
    tensor.values[i] = static_cast<double>(value);
  }
  return tensor;
}

TEST(ActivationOnCuda, HasTheBitsOfTheCpuForEveryBfloat16) {
  const Tensor input = every_leading_half(false);
  for (const Activation::Kind kind : kinds) {
    const OpCase op_case = activation_of(kind, input.shape);
    const Tensor grad = random_inputs(op_case, input.samples).grad_output;
    expect_as_on_cpu(cuda::plan_op, op_case, input, grad, Type::bf16);
  }
}

TEST(ActivationOnCuda, HasTheBitsOfTheCpuForEverySizeOfFloat) {
  const Tensor input = every_leading_half(true);
  for (const Activation::Kind kind : kinds) {
    const OpCase op_case = activation_of(kind, input.shape);
    const Tensor grad = random_inputs(op_case, input.samples).grad_output;
    expect_as_on_cpu(cuda::plan_op, op_case, input, grad, Type::fp32);
  }
}

}  // namespace
}  // namespace lockstep::testing
