#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/vector_arithmetic.h"
#include "ops/cpu/kernels/vectors.h"

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

void relu(std::size_t count, const float* input, float* output, std::uint16_t* masks) {
  for (std::size_t i = 0; i < count; ++i) {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      const std::size_t offset = pixels(i) + static_cast<std::size_t>(part * width);
      const Vector v = hn::Load(floats, input + offset);
      const Mask pass = passes(v);
      save_mask(pass, part, masks + i);
      hn::Store(hn::IfThenElseZero(pass, v), floats, output + offset);
    }
  }
}

void add(std::size_t count, const float* a, const float* b, float* output) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    hn::Store(hn::Add(hn::Load(floats, a + i), hn::Load(floats, b + i)), floats, output + i);
  }
}

void select(std::size_t count, float scale, const std::uint16_t* masks, const float* input, float* output) {
  const Vector factor = hn::Set(floats, scale);
  for (std::size_t i = 0; i < count; ++i) {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      const std::size_t offset = pixels(i) + static_cast<std::size_t>(part * width);
      const Vector scaled = hn::Mul(hn::Load(floats, input + offset), factor);
      hn::Store(hn::IfThenElseZero(load_mask(part, masks + i), scaled), floats, output + offset);
    }
  }
}

void activate(ActivationKind kind, std::size_t count, const float* input, float* output) {
  switch (kind) {
    case ActivationKind::relu6:
      return forward<Relu6<VectorArithmetic>>(count, input, output);
    case ActivationKind::silu:
      return forward<Silu<VectorArithmetic>>(count, input, output);
    default:
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
    default:
      return backward<Gelu<VectorArithmetic>>(count, input, grad_output, grad_input);
  }
}

const ElementwiseKernels elementwise_kernels{
    .relu = relu, .add = add, .select = select, .activate = activate, .activate_backward = activate_backward};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
