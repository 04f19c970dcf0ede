#include "ops/cuda/kernels/element_wise.h"

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/parameters/sum_packs.h"
#include "ops/elementwise.h"
#include "ops/float_arithmetic.h"

namespace lockstep::cuda {
namespace {

template <class T>
LOCKSTEP_HD Pack<T> sum_of(Pack<T> left, Pack<T> right) {
  Pack<T> sum;
  for (int c = 0; c < channel_unit; ++c) {
    sum.values[c] = from_float<T>(to_float(left.values[c]) + to_float(right.values[c]));
  }
  return sum;
}

template <class T>
struct Sum {
  const Pack<T>* a;
  const Pack<T>* b;
  Pack<T>* sum;
  LOCKSTEP_HD void operator()(std::size_t i) const { sum[i] = sum_of(a[i], b[i]); }
};

template <class T>
struct Copy {
  const Pack<T>* from;
  Pack<T>* to;
  LOCKSTEP_HD void operator()(std::size_t i) const { to[i] = from[i]; }
};

template <class T>
struct UndoRelu {
  const Pack<T>* output;
  const Pack<T>* grad_output;
  const Pack<T>* more;
  Pack<T>* grad_input;
  LOCKSTEP_HD Pack<T> operator()(std::size_t i) const {
    const Pack<T> y = output[i];
    Pack<T> grad = grad_output[i];
    if (more != nullptr) grad = sum_of(grad, more[i]);
    for (int c = 0; c < channel_unit; ++c) {
      if (to_float(y.values[c]) <= 0.0F) grad.values[c] = from_float<T>(0.0F);
    }
    grad_input[i] = grad;
    return grad;
  }
};

template <class Function, class T>
struct Activate {
  const Pack<T>* input;
  Pack<T>* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    Pack<float> pack = to_floats(input[index]);
    for (float& value : pack.values) value = Function::value(value);
    output[index] = from_floats<T>(pack);
  }
};

template <class Function, class T>
struct ActivateBackward {
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

void add(StreamHandle stream, Type type, std::size_t packs, const void* a, const void* b, void* sum) {
  with_stored(type, [&]<class T>(T /*stored*/) {
    for_each(stream, packs, Sum<T>{packs_at<T>(a), packs_at<T>(b), packs_at<T>(sum)});
  });
}

void copy(StreamHandle stream, Type type, std::size_t packs, const void* from, void* to) {
  with_stored(type, [&]<class T>(T /*stored*/) {
    for_each(stream, packs, Copy<T>{packs_at<T>(from), packs_at<T>(to)});
  });
}

void undo_relu(StreamHandle stream, const ReluGradient& task) {
  with_stored(task.tensor.type, [&]<class T>(T /*stored*/) {
    run_and_sum(stream, task.tensor,
                UndoRelu<T>{packs_at<T>(task.output), packs_at<T>(task.grad_output),
                            packs_at<T>(task.more_grad_output), packs_at<T>(task.grad_input)},
                task.chunks);
  });
}

void activate(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs, const void* input,
              void* output) {
  with_stored(type, [&]<class T>(T /*stored*/) {
    with_function(kind, [&]<class Function>(Function /*function*/) {
      for_each(stream, packs, Activate<Function, T>{packs_at<T>(input), packs_at<T>(output)});
    });
  });
}

void activate_backward(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs,
                       const void* input_or_output, const void* grad_output, void* grad_input) {
  with_stored(type, [&]<class T>(T /*stored*/) {
    with_function(kind, [&]<class Function>(Function /*function*/) {
      for_each(stream, packs,
               ActivateBackward<Function, T>{packs_at<T>(input_or_output), packs_at<T>(grad_output),
                                             packs_at<T>(grad_input)});
    });
  });
}

}  // namespace lockstep::cuda
