#include <bit>

#include "core/random/philox.h"
#include "ops/cuda/as_on_cpu.h"

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
          expect_as_on_cpu(op_case, values.inputs[0], values.grad_output, type);
        }
      }
    }
  }
}

/// Floats with every sign, exponent and leading 7 bits, including NaN, infinities and denormal numbers: all
/// of bf16.
TEST(ActivationOnCuda, HasTheBitsOfTheCpuForFloatsOfEverySize) {
  for (const Type type : {Type::fp32, Type::bf16}) {
    Tensor input(16, {256, 4, 4});
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const std::uint32_t rest = type == Type::fp32 ? philox(1, {i, 0, 0, 0})[0] & 0xffffU : 0U;
      input.values[i] = static_cast<double>(std::bit_cast<float>(i << 16 | rest));
    }
    for (const Activation::Kind kind : kinds) {
      const OpCase op_case = activation_of(kind, input.shape);
      const Tensor grad = random_inputs(op_case, input.samples).grad_output;
      expect_as_on_cpu(op_case, input, grad, type);
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
