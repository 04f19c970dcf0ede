#include "ops/cpu/kernels/pool.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// One output pixel and its window's rows and columns of the input.
struct PoolWindow {
  std::size_t output;  ///< output pixel
  std::size_t plane;   ///< first pixel of the channel's input
  PoolRange rows;
  PoolRange columns;
};

/// Calls visit(window) for every output pixel: channels, rows and columns ascending.
template <class Visit>
HWY_INLINE void for_each_window(const PoolTask& task, const Visit& visit) {
  std::size_t output = 0;
  for (int c = 0; c < task.channels; ++c) {
    const std::size_t plane = static_cast<std::size_t>(c) * task.in_height * task.in_width;
    for (int r = 0; r < task.out_height; ++r) {
      for (int q = 0; q < task.out_width; ++q, ++output) {
        visit(PoolWindow{output, plane, task.rows[r], task.columns[q]});
      }
    }
  }
}

/// Calls visit(pixel of the input) for every pixel of a window: rows and columns ascending.
template <class Visit>
HWY_INLINE void for_each_pixel(const PoolTask& task, const PoolWindow& window, const Visit& visit) {
  for (int i = window.rows.begin; i < window.rows.end; ++i) {
    const std::size_t row = window.plane + static_cast<std::size_t>(i) * task.in_width;
    for (int j = window.columns.begin; j < window.columns.end; ++j) {
      visit(row + static_cast<std::size_t>(j));
    }
  }
}

HWY_INLINE Vector scale_of(const PoolWindow& window) {
  return hn::Set(floats, 1.0F / static_cast<float>(window.rows.count * window.columns.count));
}

std::size_t input_floats(const PoolTask& task) {
  return pixels(static_cast<std::size_t>(task.channels) * task.in_height * task.in_width);
}

/// Whether v replaces the largest value so far: the first of equal values stays, NaN wins.
HWY_INLINE Mask replaces(Vector v, Vector largest) { return hn::Or(hn::Gt(v, largest), hn::IsNaN(v)); }

}  // namespace

void avg_pool_forward(const PoolTask& task, const float* input, float* output) {
  for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
    LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
      Vector sum = hn::Zero(floats);
      for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
        sum = hn::Add(sum, hn::Load(floats, input + pixels(pixel) + part));
      });
      hn::Store(hn::Mul(sum, scale_of(window)), floats, output + pixels(window.output) + part);
    }
  });
}

void avg_pool_backward(const PoolTask& task, const float* grad_output, float* grad_input) {
  clear(grad_input, input_floats(task));
  for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
    LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
      const Vector share =
          hn::Mul(hn::Load(floats, grad_output + pixels(window.output) + part), scale_of(window));
      for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
        float* target = grad_input + pixels(pixel) + part;
        hn::Store(hn::Add(hn::Load(floats, target), share), floats, target);
      });
    }
  });
}

void max_pool_forward(const PoolTask& task, const float* input, float* output) {
  for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
    LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
      Vector largest = hn::Inf(floats);
      largest = hn::Neg(largest);
      for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
        const Vector v = hn::Load(floats, input + pixels(pixel) + part);
        largest = hn::IfThenElse(replaces(v, largest), v, largest);
      });
      hn::Store(largest, floats, output + pixels(window.output) + part);
    }
  });
}

void max_pool_backward(const PoolTask& task, const float* input, const float* grad_output,
                       float* grad_input) {
  const hn::RebindToSigned<Floats> integers;
  clear(grad_input, input_floats(task));
  for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
    LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
      Vector largest = hn::Neg(hn::Inf(floats));
      auto place = hn::Zero(integers);
      int number = 0;
      for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
        const Vector v = hn::Load(floats, input + pixels(pixel) + part);
        const Mask better = replaces(v, largest);
        largest = hn::IfThenElse(better, v, largest);
        place = hn::IfThenElse(hn::RebindMask(integers, better), hn::Set(integers, number++), place);
      });
      const Vector grad = hn::Load(floats, grad_output + pixels(window.output) + part);
      number = 0;
      for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
        const Mask here = hn::RebindMask(floats, hn::Eq(place, hn::Set(integers, number++)));
        float* target = grad_input + pixels(pixel) + part;
        hn::Store(hn::Add(hn::Load(floats, target), hn::IfThenElseZero(here, grad)), floats, target);
      });
    }
  });
}

const PoolKernels pool_kernels{.average_forward = avg_pool_forward,
                               .average_backward = avg_pool_backward,
                               .max_forward = max_pool_forward,
                               .max_backward = max_pool_backward};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
