#include "ops/cpu/convolution/kernels/winograd_filters.h"

#include "ops/cpu/kernels/transpose.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {
namespace {

constexpr int taps = filter * filter;
/// Number of rows of rotated filters to prefetch. Rows are pages apart, and the processor does not prefetch
/// across pages. Measured: 25% faster with 512 channels.
constexpr int rows_ahead = 4;

/// Filters of one input channel and `width` output channels, one per lane.
struct Filters {
  Vector tap[taps];
  bool turned;
  HWY_INLINE Vector operator()(int i, int j) const {
    return turned ? tap[taps - 1 - (i * filter + j)] : tap[i * filter + j];
  }
};

/// Loads filters. Filter r begins at rows + r * step. Reads no floats after the last filter.
HWY_INLINE void load_filters(const float* rows, std::size_t step, Vector* tap) {
  Vector last[4];
  load_columns(rows, step, tap);
  load_columns(rows + 4, step, tap + 4);
  load_columns(rows + 5, step, last);
  tap[8] = last[3];
}

/// Stores transformed filters of one input channel and `width` output channels in blocks of output_block.
struct Packed {
  float* data;
  std::size_t position_step;
  std::size_t block_step;  ///< stride of blocks, in floats
  HWY_INLINE void operator()(int i, int j, Vector v) const {
    float* to = data + (i * patch + j) * position_step;
    if constexpr (width > output_block) {
      const hn::Half<Floats> half;
      hn::StoreU(hn::LowerHalf(half, v), half, to);
      hn::StoreU(hn::UpperHalf(half, v), half, to + block_step);
    } else {
      hn::Store(v, floats, to);
    }
  }
};

/// Address and stride of the filters of one input channel.
struct Rows {
  const float* first;
  std::size_t step;
};

Rows filter_rows(const FilterTask& task, int output, int channel) {
  if (task.transposed) {
    return {task.weight + (static_cast<std::size_t>(channel) * task.out_channels + output) * taps, taps};
  }
  const std::size_t step = static_cast<std::size_t>(task.in_channels) * taps;
  return {task.weight + step * output + static_cast<std::size_t>(channel) * taps, step};
}

/// Transforms the filters of one input channel and `width` output channels, of which `count` exist.
template <bool TURNED>
HWY_INLINE void transform_lanes(Rows rows, int count, const Packed& packed) {
  alignas(64) float copy[width * taps];
  if (count < width) {
    for (int i = 0; i < width * taps; ++i) {
      copy[i] = i < count * taps ? rows.first[i / taps * rows.step + i % taps] : 0.0F;
    }
    rows = {copy, taps};
  }
  Filters filters{{}, TURNED};
  load_filters(rows.first, rows.step, filters.tap);
  transform<FilterTransform, FilterTransform>(filters, packed);
}

Packed packed_at(const FilterTask& task, int output, int channel) {
  const std::size_t block_step = static_cast<std::size_t>(task.channels) * output_block;
  return {task.result + output / output_block * block_step + output % output_block + channel * output_block,
          task.position_step, block_step};
}

/// Transforms rotated filters in the order in which they are stored.
void transform_turned(const FilterTask& task) {
  for (int c = 0; c < task.channels; ++c) {
    if (task.first_channel + c + rows_ahead < task.in_channels) {
      const float* row = filter_rows(task, task.first_output, task.first_channel + c + rows_ahead).first;
      for (int i = 0; i < task.outputs * taps; i += lanes) {
        __builtin_prefetch(row + i);
      }
    }
    for (int o = 0; o < padded_outputs(task.outputs); o += width) {
      const Rows rows = filter_rows(task, task.first_output + o, task.first_channel + c);
      transform_lanes<true>(rows, smaller(width, task.outputs - o), packed_at(task, o, c));
    }
  }
}

void transform_straight(const FilterTask& task) {
  for (int o = 0; o < padded_outputs(task.outputs); o += width) {
    for (int c = 0; c < task.channels; ++c) {
      const Rows rows = filter_rows(task, task.first_output + o, task.first_channel + c);
      transform_lanes<false>(rows, smaller(width, task.outputs - o), packed_at(task, o, c));
    }
  }
}

}  // namespace

void transform_filters(const FilterTask& task) {
  task.transposed ? transform_turned(task) : transform_straight(task);
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd
