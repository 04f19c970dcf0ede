#include "ops/cpu/kernels/transpose.h"
#include "ops/cpu/kernels/winograd_transforms.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {
namespace {

constexpr int taps = filter * filter;

/// Filters of `width` output channels and one input channel, a channel in each lane.
struct Filters {
  Vector tap[taps];
  bool turned;
  HWY_INLINE Vector operator()(int i, int j) const {
    return turned ? tap[taps - 1 - (i * filter + j)] : tap[i * filter + j];
  }
};

/// Filter r begins at rows + r * step. No float after the last filter is read.
HWY_INLINE void load_filters(const float* rows, std::size_t step, Vector* tap) {
  Vector last[4];
  load_columns(rows, step, tap);
  load_columns(rows + 4, step, tap + 4);
  load_columns(rows + 5, step, last);
  tap[8] = last[3];
}

/// Stores the `width` output channels of one input channel to blocks of output_block.
struct Packed {
  float* data;
  std::size_t position_step;
  std::size_t block_step;  ///< floats from block to block
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

/// Where the filters of one input channel lie.
struct Rows {
  const float* first;
  std::size_t step;
};

Rows rows_of(const FilterTask& task, int out, int channel) {
  if (task.transposed) {
    return {task.weight + (static_cast<std::size_t>(channel) * task.out_channels + out) * taps, taps};
  }
  const std::size_t step = static_cast<std::size_t>(task.channels) * taps;
  return {task.weight + step * out + static_cast<std::size_t>(channel) * taps, step};
}

/// `width` output channels from `out`, of which `count` exist.
template <bool TURNED>
HWY_NOINLINE void transform_lanes(const FilterTask& task, int out, int count, Packed packed) {
  alignas(64) float copy[width * taps] = {};
  for (int c = 0; c < task.channels; ++c, packed.data += output_block) {
    Rows rows = rows_of(task, out, c);
    if (count < width) {
      for (int r = 0; r < count; ++r) {
        for (int k = 0; k < taps; ++k) {
          copy[r * taps + k] = rows.first[r * rows.step + k];
        }
      }
      rows = {copy, taps};
    }
    Filters filters{{}, TURNED};
    load_filters(rows.first, rows.step, filters.tap);
    transform<FilterTransform>(filters, packed);
  }
}

}  // namespace

void transform_filters(const FilterTask& task) {
  const std::size_t block_step = static_cast<std::size_t>(task.channels) * output_block;
  for (int o = 0; o < padded_outputs(task.count); o += width) {
    const int count = larger(smaller(width, task.count - o), 0);
    const Packed packed{task.output + o / output_block * block_step + o % output_block, task.position_step,
                        block_step};
    if (task.transposed) {
      transform_lanes<true>(task, task.first + o, count, packed);
    } else {
      transform_lanes<false>(task, task.first + o, count, packed);
    }
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd
