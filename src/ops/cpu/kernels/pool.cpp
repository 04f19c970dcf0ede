#include "ops/cpu/kernels/pool.h"

#include <type_traits>

#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// An output pixel of a channel, and the input rows and columns in its window.
struct PoolWindow {
  std::size_t output;
  PoolRange rows;
  PoolRange columns;
};

/// Calls visit(window) for every output pixel of a channel: rows and columns ascending.
template <class Visit>
HWY_INLINE void for_each_window(const PoolTask& task, const Visit& visit) {
  std::size_t output = 0;
  for (int r = 0; r < task.out_height; ++r) {
    for (int q = 0; q < task.out_width; ++q, ++output) {
      visit(PoolWindow{output, task.rows[r], task.columns[q]});
    }
  }
}

/// Calls visit(pixel of the channel's input) for every pixel of a window: rows and columns ascending.
template <class Visit>
HWY_INLINE void for_each_pixel(const PoolTask& task, const PoolWindow& window, const Visit& visit) {
  for (int i = window.rows.begin; i < window.rows.end; ++i) {
    const std::size_t row = static_cast<std::size_t>(i) * task.in_width;
    for (int j = window.columns.begin; j < window.columns.end; ++j) {
      visit(row + static_cast<std::size_t>(j));
    }
  }
}

/// Calls visit(band) for the bands of a window (pixels_in_one_sum): rows and columns ascending.
template <class Visit>
HWY_INLINE void for_each_band(const PoolWindow& window, const Visit& visit) {
  int rows = window.rows.end - window.rows.begin, columns = window.columns.end - window.columns.begin;
  if (rows * columns > pixels_in_one_sum) {
    columns = smaller(columns, pixels_in_one_sum);
    rows = pixels_in_one_sum / columns;
  }
  PoolWindow band = window;
  for (int i = window.rows.begin; i < window.rows.end; i += rows) {
    band.rows.begin = i;
    band.rows.end = smaller(i + rows, window.rows.end);
    for (int j = window.columns.begin; j < window.columns.end; j += columns) {
      band.columns.begin = j;
      band.columns.end = smaller(j + columns, window.columns.end);
      visit(band);
    }
  }
}

HWY_INLINE Vector scale_of(const PoolWindow& window) {
  return hn::Set(floats, 1.0F / static_cast<float>(window.rows.count * window.columns.count));
}

// Number of elements in a channel's input and output.
std::size_t input_plane(const PoolTask& task) {
  return pixels(static_cast<std::size_t>(task.in_height) * task.in_width);
}
std::size_t output_plane(const PoolTask& task) {
  return pixels(static_cast<std::size_t>(task.out_height) * task.out_width);
}

/// Whether v replaces the largest value so far. The first of equal values is kept; NaN replaces all values.
HWY_INLINE Mask replaces(Vector v, Vector largest) { return hn::Or(hn::Gt(v, largest), hn::IsNaN(v)); }

/// For each channel, calls add(channel, sums) with zeros in `sums`, and stores the sums as the input's
/// gradient, rounded to `Element`.
template <class Element, class Add>
void for_each_gradient(const PoolTask& task, Element* grad_input, float* plane, const Add& add) {
  for (int c = 0; c < task.channels; ++c, grad_input += input_plane(task)) {
    float* sums = plane;
    if constexpr (std::is_same_v<Element, float>) sums = grad_input;
    clear(sums, input_plane(task));
    add(c, sums);
    if constexpr (!std::is_same_v<Element, float>) {
      for (std::size_t i = 0; i < input_plane(task); i += width) store(load(sums + i), grad_input + i);
    }
  }
}

template <class Element>
void average_forward(const PoolTask& task, const Element* input, Element* output) {
  for (int c = 0; c < task.channels; ++c, input += input_plane(task), output += output_plane(task)) {
    for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
      LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
        Vector sum = hn::Zero(floats);
        for_each_band(window, [&](const PoolWindow& band) HWY_ATTR {
          Vector sum_of_band = hn::Zero(floats);
          for_each_pixel(task, band, [&](std::size_t pixel) HWY_ATTR {
            sum_of_band = hn::Add(sum_of_band, load(input + pixels(pixel) + part));
          });
          sum = hn::Add(sum, sum_of_band);
        });
        store(hn::Mul(sum, scale_of(window)), output + pixels(window.output) + part);
      }
    });
  }
}

template <class Element>
void average_backward(const PoolTask& task, const Element* grad_output, Element* grad_input, float* plane) {
  for_each_gradient(task, grad_input, plane, [&](int channel, float* sums) HWY_ATTR {
    const Element* const grads = grad_output + output_plane(task) * channel;
    for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
      LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
        const Vector share = hn::Mul(load(grads + pixels(window.output) + part), scale_of(window));
        for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
          float* target = sums + pixels(pixel) + part;
          hn::Store(hn::Add(hn::Load(floats, target), share), floats, target);
        });
      }
    });
  });
}

template <class Element>
void max_forward(const PoolTask& task, const Element* input, Element* output) {
  for (int c = 0; c < task.channels; ++c, input += input_plane(task), output += output_plane(task)) {
    for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
      LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
        Vector largest = hn::Inf(floats);
        largest = hn::Neg(largest);
        for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
          const Vector v = load(input + pixels(pixel) + part);
          largest = hn::IfThenElse(replaces(v, largest), v, largest);
        });
        store(largest, output + pixels(window.output) + part);
      }
    });
  }
}

template <class Element>
void max_backward(const PoolTask& task, const Element* input, const Element* grad_output, Element* grad_input,
                  float* plane) {
  const hn::RebindToSigned<Floats> integers;
  for_each_gradient(task, grad_input, plane, [&](int channel, float* sums) HWY_ATTR {
    const Element* const values = input + input_plane(task) * channel;
    const Element* const grads = grad_output + output_plane(task) * channel;
    for_each_window(task, [&](const PoolWindow& window) HWY_ATTR {
      LOCKSTEP_UNROLL for (int part = 0; part < lanes; part += width) {
        Vector largest = hn::Neg(hn::Inf(floats));
        auto place = hn::Zero(integers);
        int number = 0;
        for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
          const Vector v = load(values + pixels(pixel) + part);
          const Mask better = replaces(v, largest);
          largest = hn::IfThenElse(better, v, largest);
          place = hn::IfThenElse(hn::RebindMask(integers, better), hn::Set(integers, number++), place);
        });
        const Vector grad = load(grads + pixels(window.output) + part);
        number = 0;
        for_each_pixel(task, window, [&](std::size_t pixel) HWY_ATTR {
          const Mask here = hn::RebindMask(floats, hn::Eq(place, hn::Set(integers, number++)));
          float* target = sums + pixels(pixel) + part;
          hn::Store(hn::Add(hn::Load(floats, target), hn::IfThenElseZero(here, grad)), floats, target);
        });
      }
    });
  });
}

template <class Element>
constexpr PoolFunctions<Element> pool_functions{.average_forward = average_forward<Element>,
                                                .average_backward = average_backward<Element>,
                                                .max_forward = max_forward<Element>,
                                                .max_backward = max_backward<Element>};

}  // namespace

const PoolKernels pool_kernels{pool_functions<float>, pool_functions<Bfloat16>};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
