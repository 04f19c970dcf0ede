#include "ops/cpu/convolution/kernels/depthwise.h"

#include <type_traits>

#include "ops/cpu/convolution/kernels/region.h"
#include "ops/cpu/kernels/storage.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Offset of a tap from a band's first pixel, in floats.
template <class Element>
std::size_t tap_offset(const DepthwiseConv<Element>& task, const ConvTap& tap) {
  return pixels(static_cast<std::size_t>(tap.row - task.first_row) * task.source_columns +
                static_cast<std::size_t>(tap.column - task.first_column));
}

/// Computes P pixels of a grid row. `source`: first pixel in the band.
template <int P, class Element>
HWY_NOINLINE void tile(const DepthwiseConv<Element>& task, const ConvPhase& phase, const float* source,
                       const float* filter, float bias, Element* target) {
  const std::size_t step = pixels(task.step);
  const ConvTap* taps = task.taps + phase.first_tap;
  Vector sum[P];
  // With several vectors per pixel, stores to one cache line are too far apart for streaming.
  const bool stream = task.target.stream && parts == 1;
  LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { sum[p] = hn::Set(floats, bias); }
  for (int t = 0; t < phase.tap_count; ++t) {
    const float* x = source + tap_offset(task, taps[t]);
    const Vector factor = hn::Set(floats, filter[taps[t].weight]);
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
      sum[p] = hn::MulAdd(hn::Load(floats, x + p * step), factor, sum[p]);
    }
  }
  LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { store(sum[p], target + p * task.target.column, stream); }
}

/// Computes grid row `row` of a band for one part of the images. To cover a remainder, computes some pixels
/// twice.
template <class Element>
void run_row(const DepthwiseConv<Element>& task, const ConvPhase& phase, int row, const float* filter,
             float bias, int part, Element* target) {
  const std::size_t step = pixels(task.step);
  const float* source =
      task.band + pixels(static_cast<std::size_t>(row) * task.step * task.source_columns) + part * width;
  const auto at = [&](int q) HWY_ATTR { return target + q * task.target.column; };
  if (phase.columns >= 8) {
    for (int q = 0; q < phase.columns; q += 8) {
      const int first = smaller(q, phase.columns - 8);
      tile<8>(task, phase, source + first * step, filter, bias, at(first));
    }
  } else if (phase.columns >= 4) {
    const int last = phase.columns - 4;
    tile<4>(task, phase, source, filter, bias, target);
    tile<4>(task, phase, source + last * step, filter, bias, at(last));
  } else {
    for (int q = 0; q < phase.columns; ++q) {
      tile<1>(task, phase, source + q * step, filter, bias, at(q));
    }
  }
}

/// Computes all phases of the loaded band, which begins at grid row `first`.
template <class Element>
void run_band(const DepthwiseConv<Element>& task, int channel, int first) {
  const StoredGrid<Element>& grid = task.target;
  const float bias = task.bias == nullptr ? 0.0F : task.bias[channel];
  const float* filter = task.weight + static_cast<std::size_t>(channel) * task.filter;
  const int rows = smaller(task.band_rows, grid.rows - first);
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < task.phase_count; ++i) {
      const ConvPhase& phase = task.phases[i];
      if (first + r >= phase.rows) {
        continue;
      }
      Element* target = grid.data + grid.plane * channel + phase.target_offset + grid.row * (first + r);
      for (int part = 0; part < parts; ++part) {
        run_row(task, phase, r, filter, bias, part, target + part * width);
      }
    }
  }
}

/// Copies the source pixels of a channel that are read by the band of grid rows that begins at `row`.
template <class Element>
void load_band(const DepthwiseConv<Element>& task, const StoredPlanes<Element>& source, int channel,
               int row) {
  copy_region(source,
              {channel, 1, row * task.step + task.first_row, task.source_rows, task.first_column,
               task.source_columns},
              task.band);
}

/// Adds a band to T sums: sums[first + t] += grad * input at tap first + t.
template <int T, class Element>
HWY_NOINLINE void add_taps(const DepthwiseConv<Element>& task, const float* grad, int rows, int first,
                           int part, float* sums) {
  const float* x[T];
  Vector sum[T];
  LOCKSTEP_UNROLL for (int t = 0; t < T; ++t) {
    x[t] = task.band + tap_offset(task, task.taps[first + t]) + part * width;
    sum[t] = hn::Load(floats, sums + pixels(first + t) + part * width);
  }
  const std::size_t step = pixels(task.step);
  const std::size_t row_step = step * task.source_columns;
  const int columns = task.target.columns;
  grad += part * width;
  for (int r = 0; r < rows; ++r) {
    std::size_t at = row_step * r;
    for (int q = 0; q < columns; ++q, at += step, grad += lanes) {
      const Vector d = hn::Load(floats, grad);
      LOCKSTEP_UNROLL for (int t = 0; t < T; ++t) {
        sum[t] = hn::MulAdd(d, hn::Load(floats, x[t] + at), sum[t]);
      }
    }
  }
  LOCKSTEP_UNROLL for (int t = 0; t < T; ++t) {
    hn::Store(sum[t], floats, sums + pixels(first + t) + part * width);
  }
}

/// Adds a band to the sums of all taps. Processes nine or eight taps at a time if possible, to hide the
/// latency of additions.
template <class Element>
void add_band(const DepthwiseConv<Element>& task, const float* grad, int rows, float* sums) {
  for (int part = 0; part < parts; ++part) {
    const int taps = task.phases[0].tap_count;
    for (int t = 0; t < taps;) {
      const int left = taps - t;
      if (left >= 9 && left % 8 != 0) {
        add_taps<9>(task, grad, rows, t, part, sums);
        t += 9;
      } else if (left >= 8) {
        add_taps<8>(task, grad, rows, t, part, sums);
        t += 8;
      } else if (left >= 4) {
        add_taps<4>(task, grad, rows, t, part, sums);
        t += 4;
      } else {
        add_taps<1>(task, grad, rows, t, part, sums);
        t += 1;
      }
    }
  }
}

/// The planes that begin `offset` pixels after `planes`.
template <class Element>
StoredPlanes<Element> moved(const StoredPlanes<Element>& planes, std::size_t offset) {
  StoredPlanes<Element> result = planes;
  result.data += pixels(offset);
  result.masks = planes.masks == nullptr ? nullptr : planes.masks + offset;
  return result;
}

/// Address of row `row` of a channel if rows can be read in place; else null.
template <class Element>
const float* rows_of(const StoredPlanes<Element>& planes, int channel, int row) {
  if constexpr (std::is_same_v<Element, float>) {
    const std::size_t first = (static_cast<std::size_t>(channel) * planes.height + row) * planes.width;
    if (planes.masks == nullptr) return planes.data + pixels(first);
  }
  return nullptr;
}

/// Adds one group of images to the sums of a channel.
template <class Element>
void add_group(const DepthwiseConvWeights<Element>& task, int group, int channel) {
  const DepthwiseConv<Element>& conv = task.forward;
  const StoredPlanes<Element> source = moved(conv.source, task.source_stride * group);
  const StoredPlanes<Element> grad = moved(task.grad, task.grad_stride * group);
  for (int r = 0; r < grad.height; r += conv.band_rows) {
    const int rows = smaller(conv.band_rows, grad.height - r);
    load_band(conv, source, channel, r);
    const float* from = rows_of(grad, channel, r);
    if (from == nullptr) {
      copy_region(grad, {channel, 1, r, rows, 0, grad.width}, task.grad_band);
      from = task.grad_band;
    }
    add_band(conv, from, rows, task.sums);
  }
}

template <class Element>
void depthwise_conv(const DepthwiseConv<Element>& task) {
  for (int c = 0; c < task.source.channels; ++c) {
    for (int row = 0; row < task.target.rows; row += task.band_rows) {
      load_band(task, task.source, c, row);
      run_band(task, c, row);
    }
  }
}

template <class Element>
void depthwise_conv_weights(const DepthwiseConvWeights<Element>& task) {
  const DepthwiseConv<Element>& conv = task.forward;
  for (int c = 0; c < conv.source.channels; ++c) {
    clear(task.sums, pixels(conv.phases[0].tap_count));
    for (int group = 0; group < task.groups; ++group) {
      add_group(task, group, c);
    }
    fold_lanes(task.sums, conv.phases[0].tap_count,
               task.grad_weight + static_cast<std::size_t>(c) * conv.filter);
  }
}

template <class Element>
void bias_gradient(const BiasGradient<Element>& task) {
  const std::size_t plane = static_cast<std::size_t>(task.grad.height) * task.grad.width;
  for (int c = 0; c < task.grad.channels; ++c) {
    HWY_ALIGN float total[lanes];
    for (int part = 0; part < parts; ++part) {
      Vector sum = hn::Zero(floats);
      for (int group = 0; group < task.groups; ++group) {
        const StoredPlanes<Element> grad = moved(task.grad, plane * task.grad.channels * group);
        const std::size_t first = plane * c;
        for (std::size_t i = first; i < first + plane; ++i) {
          const Vector v = load(grad.data + pixels(i) + part * width);
          sum = hn::Add(sum,
                        grad.masks == nullptr ? v : hn::IfThenElseZero(load_mask(part, grad.masks + i), v));
        }
      }
      hn::Store(sum, floats, total + part * width);
    }
    fold_lanes(total, 1, task.grad_bias + c);
  }
}

template <class Element>
constexpr DepthwiseFunctions<Element> depthwise_functions{.conv = depthwise_conv<Element>,
                                                          .weights = depthwise_conv_weights<Element>,
                                                          .bias_gradient = bias_gradient<Element>};

}  // namespace

const DepthwiseKernels depthwise_kernels{depthwise_functions<float>, depthwise_functions<Bfloat16>};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
