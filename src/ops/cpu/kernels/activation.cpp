#include "ops/cpu/kernels/exponential.h"
#include "ops/cpu/kernels/kernels.h"
#include "ops/cpu/kernels/tables.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

Vector number(float value) { return hn::Set(floats, value); }

struct Relu6 {
  static Vector value(Vector x) {
    x = hn::IfThenElseZero(passes(x), x);
    return hn::IfThenElse(hn::Gt(x, number(6.0F)), number(6.0F), x);
  }
  static Vector slope(Vector x) {
    const Mask pass = hn::And(passes(x), hn::Not(hn::Ge(x, number(6.0F))));
    return hn::IfThenElseZero(pass, number(1.0F));
  }
};

/// 1 / (1 + exp(-x)), by exp(-|x|), which is at most 1.
Vector sigmoid(Vector x) {
  const Vector e = exponential(hn::Neg(hn::Abs(x)));
  const Vector numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(floats)), e, number(1.0F));
  return hn::Div(numerator, hn::Add(number(1.0F), e));
}

struct Silu {
  static Vector value(Vector x) { return hn::Mul(x, sigmoid(x)); }
  static Vector slope(Vector x) {
    const Vector s = sigmoid(x);
    return hn::Mul(s, hn::MulAdd(x, hn::Sub(number(1.0F), s), number(1.0F)));
  }
};

/// The exact GELU x Phi(x); the error function by Abramowitz and Stegun 7.1.26, within 1.5e-7.
struct Gelu {
  /// Normal distribution function, and exp(-x^2 / 2) on the way.
  static Vector distribution(Vector x, Vector& bell) {
    const Vector z = hn::Mul(hn::Abs(x), number(0.707106781F));
    bell = exponential(hn::Neg(hn::Mul(z, z)));
    const Vector t = hn::Div(number(1.0F), hn::MulAdd(z, number(0.3275911F), number(1.0F)));
    Vector p = number(1.061405429F);
    for (const float coefficient : {-1.453152027F, 1.421413741F, -0.284496736F, 0.254829592F}) {
      p = hn::MulAdd(p, t, number(coefficient));
    }
    const Vector upper = hn::Mul(number(0.5F), hn::Mul(hn::Mul(p, t), bell));  // 1 - Phi(|x|)
    return hn::IfThenElse(hn::Lt(x, hn::Zero(floats)), upper, hn::Sub(number(1.0F), upper));
  }
  static Vector value(Vector x) {
    Vector bell;
    return hn::Mul(x, distribution(x, bell));
  }
  static Vector slope(Vector x) {
    Vector bell;
    const Vector phi = distribution(x, bell);
    return hn::MulAdd(hn::Mul(x, bell), number(0.398942280F), phi);  // 1 / sqrt(2 pi)
  }
};

template <class Function>
void forward(std::size_t count, const float* input, float* output) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    hn::Store(Function::value(hn::Load(floats, input + i)), floats, output + i);
  }
}

template <class Function>
void backward(std::size_t count, const float* input, const float* grad_output, float* grad_input) {
  for (std::size_t i = 0; i < pixels(count); i += width) {
    const Vector slope = Function::slope(hn::Load(floats, input + i));
    hn::Store(hn::Mul(hn::Load(floats, grad_output + i), slope), floats, grad_input + i);
  }
}

}  // namespace

void activate(ActivationKind kind, std::size_t count, const float* input, float* output) {
  switch (kind) {
    case ActivationKind::relu6:
      return forward<Relu6>(count, input, output);
    case ActivationKind::silu:
      return forward<Silu>(count, input, output);
    case ActivationKind::gelu:
      return forward<Gelu>(count, input, output);
  }
}

void activate_backward(ActivationKind kind, std::size_t count, const float* input, const float* grad_output,
                       float* grad_input) {
  switch (kind) {
    case ActivationKind::relu6:
      return backward<Relu6>(count, input, grad_output, grad_input);
    case ActivationKind::silu:
      return backward<Silu>(count, input, grad_output, grad_input);
    case ActivationKind::gelu:
      return backward<Gelu>(count, input, grad_output, grad_input);
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
