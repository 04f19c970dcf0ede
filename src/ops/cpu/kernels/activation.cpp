#include "ops/cpu/kernels/activation.h"
#include "ops/cpu/kernels/vector_arithmetic.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

template <class Function>
void forward(std::size_t count, const float* input, float* output) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    hn::Store(Function::value(hn::Load(floats, input + i)), floats, output + i);
  }
}

template <class Function>
void backward(std::size_t count, const float* input, const float* grad_output, float* grad_input) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    const Vector x = hn::Load(floats, input + i);
    hn::Store(Function::gradient(x, hn::Load(floats, grad_output + i)), floats, grad_input + i);
  }
}

}  // namespace

void activate(ActivationKind kind, std::size_t count, const float* input, float* output) {
  switch (kind) {
    case ActivationKind::relu6:
      return forward<Relu6<VectorArithmetic>>(count, input, output);
    case ActivationKind::silu:
      return forward<Silu<VectorArithmetic>>(count, input, output);
    case ActivationKind::gelu:
      return forward<Gelu<VectorArithmetic>>(count, input, output);
  }
}

void activate_backward(ActivationKind kind, std::size_t count, const float* input, const float* grad_output,
                       float* grad_input) {
  switch (kind) {
    case ActivationKind::relu6:
      return backward<Relu6<VectorArithmetic>>(count, input, grad_output, grad_input);
    case ActivationKind::silu:
      return backward<Silu<VectorArithmetic>>(count, input, grad_output, grad_input);
    case ActivationKind::gelu:
      return backward<Gelu<VectorArithmetic>>(count, input, grad_output, grad_input);
  }
}

const ActivationKernels activation_kernels{.forward = activate, .backward = activate_backward};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
