#include "ops/cpu/kernels/group_norm.h"

#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Number of independent sums, which hide the latency of additions. Pixel p of a plane is added to sum
/// p % chains.
constexpr std::size_t chains = 4;

/// One sum per image.
struct ImageSums {
  double values[lanes] = {};
};

/// The channels of one channel group in one group of images.
struct Part {
  std::size_t group;
  std::size_t statistics;  ///< offset of the part's mean and deviation, in floats
  std::size_t first_channel, end_channel;
};

/// Calls visit(part) for every part: groups of images, then channel groups, ascending.
template <class Visit>
void for_each_part(const GroupNormShape& shape, const Visit& visit) {
  const auto parts_of_image = static_cast<std::size_t>(shape.channel_groups);
  const std::size_t channels = static_cast<std::size_t>(shape.channels) / parts_of_image;
  for (std::size_t group = 0; group < static_cast<std::size_t>(shape.groups); ++group) {
    for (std::size_t part = 0; part < parts_of_image; ++part) {
      visit(Part{group, pixels(group * parts_of_image + part), part * channels, (part + 1) * channels});
    }
  }
}

/// Offset of a channel of a group of images, in floats.
std::size_t offset_of(const GroupNormShape& shape, std::size_t group, std::size_t channel) {
  return pixels((group * static_cast<std::size_t>(shape.channels) + channel) * shape.plane);
}

double values_of(const GroupNormShape& shape) {
  const auto channels_of_group = shape.channels / shape.channel_groups;
  return static_cast<double>(channels_of_group) * static_cast<double>(shape.plane);
}

/// Computes sums[image] = sum over the plane of term(offset of a vector from the plane's first pixel).
template <class Term>
HWY_INLINE void sum_plane(std::size_t plane, int part, const Term& term, float* sums) {
  Vector sum[chains];
  LOCKSTEP_UNROLL for (std::size_t i = 0; i < chains; ++i) { sum[i] = hn::Zero(floats); }
  const std::size_t first = static_cast<std::size_t>(part * width);
  for (std::size_t p = 0; p < plane;) {
    const std::size_t end = end_of_run(plane, p);
    Vector chain[chains];
    LOCKSTEP_UNROLL for (std::size_t i = 0; i < chains; ++i) { chain[i] = hn::Zero(floats); }
    for (; p + chains <= end; p += chains) {
      LOCKSTEP_UNROLL for (std::size_t i = 0; i < chains; ++i) {
        chain[i] = hn::Add(chain[i], term(pixels(p + i) + first));
      }
    }
    LOCKSTEP_UNROLL for (std::size_t i = 0; i < chains - 1; ++i) {
      if (p + i < end) chain[i] = hn::Add(chain[i], term(pixels(p + i) + first));
    }
    LOCKSTEP_UNROLL for (std::size_t i = 0; i < chains; ++i) { sum[i] = hn::Add(sum[i], chain[i]); }
    p = end;
  }
  hn::Store(hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])), floats, sums + first);
}

/// Adds factor * sums to `total`, per image.
void add(const float* sums, float factor, ImageSums& total) {
  for (int image = 0; image < lanes; ++image) {
    total.values[image] += static_cast<double>(factor) * static_cast<double>(sums[image]);
  }
}

void divide(const ImageSums& total, double divisor, float* quotients) {
  for (int image = 0; image < lanes; ++image) {
    quotients[image] = static_cast<float>(total.values[image] / divisor);
  }
}

float fold(ImageSums total) {
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int image = 0; image < half; ++image) total.values[image] += total.values[image + half];
  }
  return static_cast<float>(total.values[0]);
}

/// Computes the mean, then the mean of the squared distances from the mean.
template <class Element>
void measure(const GroupNormForward<Element>& task, const Part& at) {
  const GroupNormShape& shape = task.shape;
  alignas(64) float sums[lanes];
  float* const mean = task.mean + at.statistics;
  float* const inverse = task.inverse_deviation + at.statistics;
  ImageSums total;
  for (std::size_t c = at.first_channel; c < at.end_channel; ++c) {
    const Element* x = task.input + offset_of(shape, at.group, c);
    for (int part = 0; part < parts; ++part) {
      sum_plane(
          shape.plane, part, [x](std::size_t i) HWY_ATTR { return load(x + i); }, sums);
    }
    add(sums, 1.0F, total);
  }
  divide(total, values_of(shape), mean);
  total = {};
  for (std::size_t c = at.first_channel; c < at.end_channel; ++c) {
    const Element* x = task.input + offset_of(shape, at.group, c);
    for (int part = 0; part < parts; ++part) {
      const Vector center = hn::Load(floats, mean + part * width);
      sum_plane(
          shape.plane, part,
          [x, center](std::size_t i) HWY_ATTR {
            const Vector distance = hn::Sub(load(x + i), center);
            return hn::Mul(distance, distance);
          },
          sums);
    }
    add(sums, 1.0F, total);
  }
  divide(total, values_of(shape), inverse);  // the variance, which the loop below replaces
  for (int part = 0; part < parts; ++part) {
    const Vector variance = hn::Add(hn::Load(floats, inverse + part * width), hn::Set(floats, task.eps));
    hn::Store(hn::Div(hn::Set(floats, 1.0F), hn::Sqrt(variance)), floats, inverse + part * width);
  }
}

template <class Element>
void normalize(const GroupNormForward<Element>& task, const Part& at) {
  const GroupNormShape& shape = task.shape;
  for (std::size_t c = at.first_channel; c < at.end_channel; ++c) {
    const std::size_t offset = offset_of(shape, at.group, c);
    const Vector weight = hn::Set(floats, task.weight[c]);
    const Vector bias = hn::Set(floats, task.bias[c]);
    for (int part = 0; part < parts; ++part) {
      const Vector mean = hn::Load(floats, task.mean + at.statistics + part * width);
      const Vector inverse = hn::Load(floats, task.inverse_deviation + at.statistics + part * width);
      for (std::size_t p = 0; p < shape.plane; ++p) {
        const std::size_t i = offset + pixels(p) + static_cast<std::size_t>(part * width);
        const Vector normal = hn::Mul(hn::Sub(load(task.input + i), mean), inverse);
        store(hn::MulAdd(normal, weight, bias), task.output + i);
      }
    }
  }
}

/// Address of a channel's two sums per image: the sum of the gradient, and the sum of the gradient's products
/// with the normalized input.
template <class Element>
float* sums_of(const GroupNormBackward<Element>& task, std::size_t group, std::size_t channel) {
  return task.sums + pixels(2 * (group * static_cast<std::size_t>(task.shape.channels) + channel));
}

template <class Element>
void sum_channels(const GroupNormBackward<Element>& task, const Part& at) {
  for (std::size_t c = at.first_channel; c < at.end_channel; ++c) {
    const std::size_t offset = offset_of(task.shape, at.group, c);
    const Element* grad = task.grad_output + offset;
    const Element* x = task.input + offset;
    float* const sums = sums_of(task, at.group, c);
    for (int part = 0; part < parts; ++part) {
      const Vector mean = hn::Load(floats, task.mean + at.statistics + part * width);
      const Vector inverse = hn::Load(floats, task.inverse_deviation + at.statistics + part * width);
      sum_plane(
          task.shape.plane, part, [grad](std::size_t i) HWY_ATTR { return load(grad + i); }, sums);
      sum_plane(
          task.shape.plane, part,
          [grad, x, mean, inverse](std::size_t i) HWY_ATTR {
            const Vector normal = hn::Mul(hn::Sub(load(x + i), mean), inverse);
            return hn::Mul(load(grad + i), normal);
          },
          sums + lanes);
    }
  }
}

/// dx = inverse * (dy weight - mean of dy weight - normal * mean of dy weight normal).
template <class Element>
void differentiate(const GroupNormBackward<Element>& task, const Part& at) {
  const GroupNormShape& shape = task.shape;
  ImageSums total, products;
  for (std::size_t c = at.first_channel; c < at.end_channel; ++c) {
    const float* sums = sums_of(task, at.group, c);
    add(sums, task.weight[c], total);
    add(sums + lanes, task.weight[c], products);
  }
  alignas(64) float mean_grad[lanes];
  alignas(64) float mean_product[lanes];
  divide(total, values_of(shape), mean_grad);
  divide(products, values_of(shape), mean_product);
  for (std::size_t c = at.first_channel; c < at.end_channel; ++c) {
    const std::size_t offset = offset_of(shape, at.group, c);
    const Vector weight = hn::Set(floats, task.weight[c]);
    for (int part = 0; part < parts; ++part) {
      const Vector mean = hn::Load(floats, task.mean + at.statistics + part * width);
      const Vector inverse = hn::Load(floats, task.inverse_deviation + at.statistics + part * width);
      const Vector shift = hn::Load(floats, mean_grad + part * width);
      const Vector slope = hn::Load(floats, mean_product + part * width);
      for (std::size_t p = 0; p < shape.plane; ++p) {
        const std::size_t i = offset + pixels(p) + static_cast<std::size_t>(part * width);
        const Vector normal = hn::Mul(hn::Sub(load(task.input + i), mean), inverse);
        const Vector grad = hn::Sub(hn::Mul(load(task.grad_output + i), weight), shift);
        store(hn::Mul(hn::NegMulAdd(normal, slope, grad), inverse), task.grad_input + i);
      }
    }
  }
}

template <class Element>
void add_parameter_gradients(const GroupNormBackward<Element>& task) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(task.shape.channels); ++c) {
    ImageSums bias, weight;
    for (std::size_t group = 0; group < static_cast<std::size_t>(task.shape.groups); ++group) {
      const float* sums = sums_of(task, group, c);
      add(sums, 1.0F, bias);
      add(sums + lanes, 1.0F, weight);
    }
    task.grad_bias[c] = fold(bias);
    task.grad_weight[c] = fold(weight);
  }
}

template <class Element>
void forward(const GroupNormForward<Element>& task) {
  for_each_part(task.shape, [&](const Part& part) {
    measure(task, part);
    normalize(task, part);
  });
}

template <class Element>
void backward(const GroupNormBackward<Element>& task) {
  for_each_part(task.shape, [&](const Part& part) {
    sum_channels(task, part);
    if (task.grad_input != nullptr) differentiate(task, part);
  });
  add_parameter_gradients(task);
}

template <class Element>
constexpr GroupNormFunctions<Element> group_norm_functions{.forward = forward<Element>,
                                                           .backward = backward<Element>};

}  // namespace

const GroupNormKernels group_norm_kernels{group_norm_functions<float>, group_norm_functions<Bfloat16>};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
