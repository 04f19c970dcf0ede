#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vector_arithmetic.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

namespace {

template <class Function, class Element>
void forward(std::size_t count, const Element* input, Element* output) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    store(Function::value(load(input + i)), output + i);
  }
}

template <class Function, class Element>
void backward(std::size_t count, const Element* input, const Element* grad_output, Element* grad_input) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    const Vector x = load(input + i);
    store(Function::gradient(x, load(grad_output + i)), grad_input + i);
  }
}

template <class Element>
void relu(std::size_t count, const Element* input, Element* output, std::uint16_t* masks) {
  for (std::size_t i = 0; i < count; ++i) {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      const std::size_t offset = pixels(i) + static_cast<std::size_t>(part * width);
      const Vector v = load(input + offset);
      const Mask pass = passes(v);
      save_mask(pass, part, masks + i);
      store(hn::IfThenElseZero(pass, v), output + offset);
    }
  }
}

template <class Element>
void add(std::size_t count, const Element* a, const Element* b, Element* output) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    store(hn::Add(load(a + i), load(b + i)), output + i);
  }
}

template <class Element>
void select(std::size_t count, float scale, const std::uint16_t* masks, const Element* input,
            Element* output) {
  const Vector factor = hn::Set(floats, scale);
  for (std::size_t i = 0; i < count; ++i) {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      const std::size_t offset = pixels(i) + static_cast<std::size_t>(part * width);
      const Vector scaled = hn::Mul(load(input + offset), factor);
      store(hn::IfThenElseZero(load_mask(part, masks + i), scaled), output + offset);
    }
  }
}

template <class Element>
void activate(ActivationKind kind, std::size_t count, const Element* input, Element* output) {
  switch (kind) {
    case ActivationKind::relu6:
      return forward<Relu6<VectorArithmetic>>(count, input, output);
    case ActivationKind::silu:
      return forward<Silu<VectorArithmetic>>(count, input, output);
    case ActivationKind::gelu:
      return forward<Gelu<VectorArithmetic>>(count, input, output);
    case ActivationKind::none:
    case ActivationKind::relu:  // has functions of its own, with masks
      return;
  }
}

template <class Element>
void activate_backward(ActivationKind kind, std::size_t count, const Element* input,
                       const Element* grad_output, Element* grad_input) {
  switch (kind) {
    case ActivationKind::relu6:
      return backward<Relu6<VectorArithmetic>>(count, input, grad_output, grad_input);
    case ActivationKind::silu:
      return backward<Silu<VectorArithmetic>>(count, input, grad_output, grad_input);
    case ActivationKind::gelu:
      return backward<Gelu<VectorArithmetic>>(count, input, grad_output, grad_input);
    case ActivationKind::none:
    case ActivationKind::relu:  // has functions of its own, with masks
      return;
  }
}

template <class Element>
constexpr ElementwiseFunctions<Element> elementwise_functions{
    .relu = relu<Element>,
    .add = add<Element>,
    .select = select<Element>,
    .activate = activate<Element>,
    .activate_backward = activate_backward<Element>};

}  // namespace

const ElementwiseKernels elementwise_kernels{elementwise_functions<float>, elementwise_functions<Bfloat16>};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
