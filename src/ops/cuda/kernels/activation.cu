#include "ops/cuda/kernels/activation.h"

#include "ops/cuda/kernels/pack.h"
#include "ops/elementwise.h"
#include "ops/float_arithmetic.h"

namespace lockstep::cuda {
namespace {

template <class Function, class T>
struct Forward {
  const Pack<T>* input;
  Pack<T>* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    Pack<float> pack = to_floats(input[index]);
    for (float& value : pack.values) value = Function::value(value);
    output[index] = from_floats<T>(pack);
  }
};

template <class Function, class T>
struct Backward {
  const Pack<T>* read;
  const Pack<T>* grad_output;
  Pack<T>* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const Pack<float> x = to_floats(read[index]);
    Pack<float> grad = to_floats(grad_output[index]);
    for (int k = 0; k < channel_unit; ++k) {
      grad.values[k] = Function::gradient(x.values[k], grad.values[k]);
    }
    grad_input[index] = from_floats<T>(grad);
  }
};

/// Calls run with the function of `kind`.
template <class Run>
void with_function(Activation::Kind kind, const Run& run) {
  switch (kind) {
    case Activation::Kind::relu:
      return run(Relu<FloatArithmetic>{});
    case Activation::Kind::relu6:
      return run(Relu6<FloatArithmetic>{});
    case Activation::Kind::silu:
      return run(Silu<FloatArithmetic>{});
    case Activation::Kind::gelu:
      return run(Gelu<FloatArithmetic>{});
  }
}

}  // namespace

void activation_forward(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs,
                        const void* input, void* output) {
  with_stored(type, [&](auto stored) {
    using T = decltype(stored);
    with_function(kind, [&](auto function) {
      for_each(stream, packs, Forward<decltype(function), T>{packs_at<T>(input), packs_at<T>(output)});
    });
  });
}

void activation_backward(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs,
                         const void* input_or_output, const void* grad_output, void* grad_input) {
  with_stored(type, [&](auto stored) {
    using T = decltype(stored);
    with_function(kind, [&](auto function) {
      for_each(stream, packs,
               Backward<decltype(function), T>{packs_at<T>(input_or_output), packs_at<T>(grad_output),
                                               packs_at<T>(grad_input)});
    });
  });
}

}  // namespace lockstep::cuda
