#include "ops/cpu/kernels/batch_norm.h"

#include <type_traits>

#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Number of independent sums, which hide the latency of additions. Pixel p of a plane is added to sum
/// p % chains.
constexpr int chains = 4;
/// Number of pixels, a multiple of `chains`, of which one part is added after the other, while the pixels are
/// in the first-level cache.
constexpr std::size_t pixels_at_once = 64;

/// One channel of one group.
struct Plane {
  std::size_t offset;  ///< in floats
  int samples;         ///< images in this group
};

Plane plane_at(const BatchNormShape& shape, int channel, int group) {
  const std::size_t plane = static_cast<std::size_t>(group) * shape.channels + channel;
  return {pixels(plane * shape.plane), smaller(lanes, shape.samples - group * lanes)};
}

HWY_INLINE Mask present(const Plane& plane, int part) {
  return hn::FirstN(floats, static_cast<std::size_t>(larger(0, plane.samples - part * width)));
}

/// Adds the chains as (0 + 1) + (2 + 3) per image, then the images in pairs (l, l + 8), (l, l + 4), ...
double total(const Vector (*parts_of_sum)[chains]) {
  alignas(64) float pixel[lanes];
  for (int part = 0; part < parts; ++part) {
    const Vector* chain = parts_of_sum[part];
    hn::Store(hn::Add(hn::Add(chain[0], chain[1]), hn::Add(chain[2], chain[3])), floats,
              pixel + part * width);
  }
  double sum[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    sum[lane] = static_cast<double>(pixel[lane]);
  }
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      sum[lane] += sum[lane + half];
    }
  }
  return sum[0];
}

/// Computes the totals of COUNT sums over a channel. Calls add(sums, offset of a vector in floats, mask of
/// existing images) for every vector.
template <int COUNT, class Add>
HWY_INLINE void reduce_channel(const BatchNormShape& shape, int channel, double* totals, const Add& add) {
  Vector sums[COUNT][parts][chains];
  Vector sums_of_runs[COUNT][parts][chains];
  LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
    LOCKSTEP_UNROLL for (int s = 0; s < COUNT; ++s) {
      LOCKSTEP_UNROLL for (int i = 0; i < chains; ++i) {
        sums[s][part][i] = hn::Zero(floats);
        sums_of_runs[s][part][i] = hn::Zero(floats);
      }
    }
  }
  const auto end_run = [&]() HWY_ATTR {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      LOCKSTEP_UNROLL for (int s = 0; s < COUNT; ++s) {
        LOCKSTEP_UNROLL for (int i = 0; i < chains; ++i) {
          sums_of_runs[s][part][i] = hn::Add(sums_of_runs[s][part][i], sums[s][part][i]);
          sums[s][part][i] = hn::Zero(floats);
        }
      }
    }
  };
  for (int group = 0; group < shape.groups; ++group) {
    const Plane plane = plane_at(shape, channel, group);
    std::size_t run_end = end_of_run(shape.plane, 0);
    for (std::size_t begin = 0, end = 0; begin < shape.plane; begin = end) {
      end = run_end - begin > pixels_at_once ? begin + pixels_at_once : run_end;
      LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
        const Mask mask = present(plane, part);
        Vector chain[COUNT][chains];
        LOCKSTEP_UNROLL for (int s = 0; s < COUNT; ++s) {
          LOCKSTEP_UNROLL for (int i = 0; i < chains; ++i) { chain[s][i] = sums[s][part][i]; }
        }
        std::size_t p = begin;
        const std::size_t first = plane.offset + static_cast<std::size_t>(part * width);
        const auto add_pixel = [&](int i) HWY_ATTR {
          Vector one[COUNT];
          LOCKSTEP_UNROLL for (int s = 0; s < COUNT; ++s) { one[s] = chain[s][i]; }
          add(one, first + pixels(p + static_cast<std::size_t>(i)), mask);
          LOCKSTEP_UNROLL for (int s = 0; s < COUNT; ++s) { chain[s][i] = one[s]; }
        };
        for (; p + chains <= end; p += chains) {
          LOCKSTEP_UNROLL for (int i = 0; i < chains; ++i) { add_pixel(i); }
        }
        LOCKSTEP_UNROLL for (int i = 0; i < chains - 1; ++i) {
          if (p + static_cast<std::size_t>(i) < end) add_pixel(i);
        }
        LOCKSTEP_UNROLL for (int s = 0; s < COUNT; ++s) {
          LOCKSTEP_UNROLL for (int i = 0; i < chains; ++i) { sums[s][part][i] = chain[s][i]; }
        }
      }
      if (end == run_end && shape.plane > pixels_without_runs) {
        end_run();
        run_end = end_of_run(shape.plane, end);
      }
    }
  }
  end_run();
  for (int s = 0; s < COUNT; ++s) {
    totals[s] = total(sums_of_runs[s]);
  }
}

/// Calls visit(offset of a vector in floats, mask of existing images) for every vector of a channel.
template <class Visit>
HWY_INLINE void for_each_vector(const BatchNormShape& shape, int channel, const Visit& visit) {
  for (int group = 0; group < shape.groups; ++group) {
    const Plane plane = plane_at(shape, channel, group);
    Mask masks[parts];
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) { masks[part] = present(plane, part); }
    for (std::size_t p = 0; p < shape.plane; ++p) {
      LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
        visit(plane.offset + pixels(p) + static_cast<std::size_t>(part * width), masks[part]);
      }
    }
  }
}

double elements(const BatchNormShape& shape) {
  return static_cast<double>(shape.samples) * static_cast<double>(shape.plane);
}

/// Computes the mean, then the mean of the squared distances from the mean.
template <class Element>
void measure(const BatchNormForward<Element>& task, int channel) {
  const BatchNormShape& shape = task.shape;
  const Element* x = task.input;
  double sum = 0.0;
  reduce_channel<1>(shape, channel, &sum, [x](Vector* s, std::size_t at, Mask mask) HWY_ATTR {
    s[0] = hn::Add(s[0], hn::IfThenElseZero(mask, load(x + at)));
  });
  task.mean[channel] = static_cast<float>(sum / elements(shape));
  const Vector mean = hn::Set(floats, task.mean[channel]);
  reduce_channel<1>(shape, channel, &sum, [x, mean](Vector* s, std::size_t at, Mask mask) HWY_ATTR {
    const Vector distance = hn::IfThenElseZero(mask, hn::Sub(load(x + at), mean));
    s[0] = hn::MulAdd(distance, distance, s[0]);
  });
  task.variance[channel] = static_cast<float>(sum / elements(shape));
}

template <ActivationKind ACTIVATION>
HWY_INLINE Vector activate(Vector v) {
  if constexpr (ACTIVATION == ActivationKind::none) {
    return v;
  }
  v = hn::IfThenElseZero(passes(v), v);
  if constexpr (ACTIVATION == ActivationKind::relu6) {
    const Vector six = hn::Set(floats, 6.0F);
    v = hn::IfThenElse(hn::Gt(v, six), six, v);
  }
  return v;
}

/// Gradient before the activation. `y`: value before or after the activation, as stored.
template <ActivationKind ACTIVATION>
HWY_INLINE Vector masked(Vector grad, Vector y) {
  if constexpr (ACTIVATION == ActivationKind::none) {
    return grad;
  }
  grad = hn::IfThenElseZero(passes(y), grad);
  if constexpr (ACTIVATION == ActivationKind::relu6) {
    grad = hn::IfThenElseZero(hn::Not(hn::Ge(y, hn::Set(floats, 6.0F))), grad);
  }
  return grad;
}

/// A channel's values before residual and activation are factor * input + shift.
struct Line {
  Vector factor;
  Vector shift;

  template <class Element>
  HWY_INLINE Vector at(const Element* input) const {
    return hn::MulAdd(load(input), factor, shift);
  }
};

template <class Task>
Line line_of(const Task& task, int channel) {
  const float scale = task.weight[channel] * task.inverse_deviation[channel];
  return {hn::Set(floats, scale), hn::Set(floats, task.bias[channel] - task.mean[channel] * scale)};
}

/// Computes the outputs of a channel. Outputs of missing images are zeros: several layers that scale by the
/// inverse of a variance near 0 would make them infinite.
template <class Element, ActivationKind ACTIVATION, bool RESIDUAL>
void normalize(const BatchNormForward<Element>& task, int channel) {
  const Line line = line_of(task, channel);
  const bool stream = task.shape.stream;
  for_each_vector(task.shape, channel, [&](std::size_t at, Mask mask) HWY_ATTR {
    Vector v = line.at(task.input + at);
    if constexpr (RESIDUAL) {
      v = hn::Add(v, load(task.residual + at));
    }
    store(hn::IfThenElseZero(mask, activate<ACTIVATION>(v)), task.output + at, stream);
  });
}

/// Whether forward added a residual, and whether the residual's gradient is computed.
enum class Residual { none, without_gradient, with_gradient };

/// Computes all gradients of a channel. Gradients of missing images are zeros. Without a residual, the
/// activation's value is recomputed from the input, which is read anyway.
template <class Element, ActivationKind ACTIVATION, Residual RESIDUAL>
void differentiate(const BatchNormBackward<Element>& task, int channel) {
  const BatchNormShape& shape = task.shape;
  const Element* x = task.input;
  const float mean_of_channel = task.mean[channel];
  const float inverse = task.inverse_deviation[channel];
  const Vector mean = hn::Set(floats, mean_of_channel);
  const Line line = line_of(task, channel);
  const auto grad_at = [&](std::size_t at) HWY_ATTR {
    const Vector grad = load(task.grad_output + at);
    if constexpr (ACTIVATION == ActivationKind::none) return grad;
    if constexpr (RESIDUAL != Residual::none) return masked<ACTIVATION>(grad, load(task.output + at));
    const Vector y = line.at(x + at);
    if constexpr (std::is_same_v<Element, float>) return masked<ACTIVATION>(grad, y);
    return masked<ACTIVATION>(grad, ACTIVATION == ActivationKind::relu6 ? rounded(y) : y);
  };
  double sums[2] = {0.0, 0.0};  // of dy and dy (x - mean)
  reduce_channel<2>(shape, channel, sums, [&](Vector* s, std::size_t at, Mask) HWY_ATTR {
    const Vector grad = grad_at(at);
    s[0] = hn::Add(s[0], grad);
    s[1] = hn::MulAdd(grad, hn::Sub(load(x + at), mean), s[1]);
  });
  task.grad_bias[channel] = static_cast<float>(sums[0]);
  task.grad_weight[channel] = static_cast<float>(sums[1] * static_cast<double>(inverse));
  if (RESIDUAL != Residual::with_gradient && task.grad_input == nullptr) {
    return;
  }
  const float scale = task.weight[channel] * inverse;
  const double square = static_cast<double>(inverse) * static_cast<double>(inverse);
  const Vector factor = hn::Set(floats, scale);
  const Vector slope = hn::Set(floats, -scale * static_cast<float>(sums[1] * square / elements(shape)));
  const Vector shift = hn::Set(floats, -scale * static_cast<float>(sums[0] / elements(shape)));
  const bool stream = shape.stream;
  for_each_vector(shape, channel, [&](std::size_t at, Mask mask) HWY_ATTR {
    const Vector grad = grad_at(at);
    if constexpr (RESIDUAL == Residual::with_gradient) {
      store(grad, task.grad_residual + at, stream);
      if (task.grad_input == nullptr) return;
    }
    const Vector linear = hn::MulAdd(hn::Sub(load(x + at), mean), slope, shift);
    store(hn::IfThenElseZero(mask, hn::MulAdd(grad, factor, linear)), task.grad_input + at, stream);
  });
}

template <class Element>
using Forward = void (*)(const BatchNormForward<Element>&, int);
template <class Element>
using Backward = void (*)(const BatchNormBackward<Element>&, int);

template <class Element, bool RESIDUAL>
Forward<Element> forward_function(ActivationKind activation) {
  switch (activation) {
    case ActivationKind::relu:
      return normalize<Element, ActivationKind::relu, RESIDUAL>;
    case ActivationKind::relu6:
      return normalize<Element, ActivationKind::relu6, RESIDUAL>;
    default:
      return normalize<Element, ActivationKind::none, RESIDUAL>;
  }
}

template <class Element, Residual RESIDUAL>
Backward<Element> backward_function(ActivationKind activation) {
  switch (activation) {
    case ActivationKind::relu:
      return differentiate<Element, ActivationKind::relu, RESIDUAL>;
    case ActivationKind::relu6:
      return differentiate<Element, ActivationKind::relu6, RESIDUAL>;
    default:
      return differentiate<Element, ActivationKind::none, RESIDUAL>;
  }
}

template <class Element>
void batch_norm_forward(const BatchNormForward<Element>& task) {
  const Forward<Element> run = task.residual != nullptr ? forward_function<Element, true>(task.activation)
                                                        : forward_function<Element, false>(task.activation);
  const hn::CappedTag<float, 1> one;
  for (int channel = 0; channel < task.shape.channels; ++channel) {
    if (task.training) {
      measure(task, channel);
    }
    const auto variance = hn::Set(one, task.variance[channel] + task.eps);
    task.inverse_deviation[channel] = hn::GetLane(hn::Div(hn::Set(one, 1.0F), hn::Sqrt(variance)));
    run(task, channel);
  }
}

template <class Element>
void batch_norm_backward(const BatchNormBackward<Element>& task) {
  const Backward<Element> run =
      task.grad_residual != nullptr ? backward_function<Element, Residual::with_gradient>(task.activation)
      : task.output != nullptr      ? backward_function<Element, Residual::without_gradient>(task.activation)
                                    : backward_function<Element, Residual::none>(task.activation);
  for (int channel = 0; channel < task.shape.channels; ++channel) {
    run(task, channel);
  }
}

template <class Element>
constexpr BatchNormFunctions<Element> batch_norm_functions{.forward = batch_norm_forward<Element>,
                                                           .backward = batch_norm_backward<Element>};

}  // namespace

const BatchNormKernels batch_norm_kernels{batch_norm_functions<float>, batch_norm_functions<Bfloat16>};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
