#include "ops/cpu/kernels/kernels.h"
#include "ops/cpu/kernels/tables.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Calls visit(output pixel, first pixel of its window) for every output, channels and rows ascending.
template <class Visit>
void for_each_window(const PoolTask& task, const Visit& visit) {
  std::size_t output = 0;
  for (int c = 0; c < task.channels; ++c) {
    for (int r = 0; r < task.out_height; ++r) {
      for (int q = 0; q < task.out_width; ++q, ++output) {
        visit(output, (static_cast<std::size_t>(c) * task.in_height + r * task.stride) * task.in_width +
                          static_cast<std::size_t>(q) * task.stride);
      }
    }
  }
}

Vector scale_of(const PoolTask& task) {
  return hn::Set(floats, 1.0F / static_cast<float>(task.window * task.window));
}

}  // namespace

void pool_forward(const PoolTask& task, const float* input, float* output) {
  const Vector scale = scale_of(task);
  for_each_window(task, [&](std::size_t target, std::size_t first) HWY_ATTR {
    for (int part = 0; part < lanes; part += width) {
      Vector sum = hn::Load(floats, input + pixels(first) + part);
      for (int i = 0; i < task.window; ++i) {
        for (int j = i == 0 ? 1 : 0; j < task.window; ++j) {
          const std::size_t pixel = first + static_cast<std::size_t>(i) * task.in_width + j;
          sum = hn::Add(sum, hn::Load(floats, input + pixels(pixel) + part));
        }
      }
      hn::Store(hn::Mul(sum, scale), floats, output + pixels(target) + part);
    }
  });
}

void pool_backward(const PoolTask& task, const float* grad_output, float* grad_input) {
  const Vector scale = scale_of(task);
  const std::size_t size = static_cast<std::size_t>(task.channels) * task.in_height * task.in_width;
  for (std::size_t i = 0; i < pixels(size); i += width) {
    hn::Store(hn::Zero(floats), floats, grad_input + i);
  }
  for_each_window(task, [&](std::size_t source, std::size_t first) HWY_ATTR {
    for (int part = 0; part < lanes; part += width) {
      const Vector share = hn::Mul(hn::Load(floats, grad_output + pixels(source) + part), scale);
      for (int i = 0; i < task.window; ++i) {
        for (int j = 0; j < task.window; ++j) {
          const std::size_t pixel = first + static_cast<std::size_t>(i) * task.in_width + j;
          float* target = grad_input + pixels(pixel) + part;
          hn::Store(hn::Add(hn::Load(floats, target), share), floats, target);
        }
      }
    }
  });
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
