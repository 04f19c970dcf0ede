#include "ops/cpu/convolution/kernels/blocked_conv.h"

#include "ops/cpu/convolution/kernels/region.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Register block: sums of tile_outputs x tile_pixels, one vector per pixel, and one weight.
constexpr int tile_outputs = many_registers ? 8 : 4;
constexpr int tile_pixels = 3;

/// Contribution of some input channels to a tile. Pointers refer to one part of the images.
struct Tile {
  const float* weight;  ///< [source][tap][8]
  const float* bias;    ///< from the first output on; null: zeros
  const float* pixel[tile_pixels];
  float* target[tile_pixels];
  std::size_t source_plane;
  std::size_t target_plane;
  const int* tap_offsets;
  int taps;
  int sources;
  int outputs;  ///< existing ones, at most OB
  bool first;   ///< whether sums start from the bias, not from the target
};

template <int OB, int P>
HWY_INLINE void start_sums(const Tile& task, Vector (&sum)[OB][P]) {
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    const bool exists = o < task.outputs;
    const bool bias = task.first && task.bias != nullptr && exists;
    const Vector start = bias ? hn::Set(floats, task.bias[o]) : hn::Zero(floats);
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
      sum[o][p] = task.first || !exists ? start : hn::Load(floats, task.target[p] + o * task.target_plane);
    }
  }
}

/// Computes a tile. TAPS 0: known at run time.
template <int TAPS, int OB, int P>
HWY_NOINLINE void tile(const Tile& task) {
  Vector sum[OB][P];
  start_sums<OB, P>(task, sum);
  const float* x[P];
  LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { x[p] = task.pixel[p]; }
  const float* weight = task.weight;
  const int taps = TAPS != 0 ? TAPS : task.taps;
  const int sources = task.sources;
  const int* offsets = task.tap_offsets;
  const std::size_t plane = task.source_plane;
  for (int c = 0; c < sources; ++c) {
    for (int t = 0; t < taps; ++t, weight += packed_block) {
      const std::ptrdiff_t offset = TAPS == 1 ? 0 : offsets[t];
      Vector pixel[P];
      LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { pixel[p] = hn::Load(floats, x[p] + offset); }
      LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
        const Vector factor = hn::Set(floats, weight[o]);
        LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { sum[o][p] = hn::MulAdd(pixel[p], factor, sum[o][p]); }
      }
    }
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { x[p] += plane; }
  }
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    if (o < task.outputs) {
      LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
        hn::Store(sum[o][p], floats, task.target[p] + o * task.target_plane);
      }
    }
  }
}

using TileFunction = void (*)(const Tile&);

template <int TAPS>
TileFunction tile_function(int count) {
  return count == 3   ? tile<TAPS, tile_outputs, 3>
         : count == 2 ? tile<TAPS, tile_outputs, 2>
                      : tile<TAPS, tile_outputs, 1>;
}

/// Offsets of a region's pixels in its copy and in the target, in floats.
struct RegionPixels {
  int count;
  std::size_t source[region_pixels];
  std::size_t target[region_pixels];
};

/// Grid pixels of a region.
struct GridRegion {
  int row, rows;
  int column, columns;
};

RegionPixels locate(const BlockedConv& task, const ConvPhase& phase, const GridRegion& region) {
  RegionPixels result;
  result.count = 0;
  const int rows = smaller(region.rows, phase.rows - region.row);
  const int columns = smaller(region.columns, phase.columns - region.column);
  for (int r = 0; r < rows; ++r) {
    for (int q = 0; q < columns; ++q, ++result.count) {
      result.source[result.count] =
          pixels(static_cast<std::size_t>(r) * task.step * task.blocking.source_columns +
                 static_cast<std::size_t>(q) * task.step);
      result.target[result.count] = phase.target_offset +
                                    static_cast<std::size_t>(region.row + r) * task.target.row +
                                    static_cast<std::size_t>(region.column + q) * task.target.column;
    }
  }
  return result;
}

/// Ranges of input and output channels of a phase.
struct PhasePart {
  const ConvPhase& phase;
  int first_source, sources;
  int output, end;
};

/// Computes the outputs of `work` for pixels [first, first + count).
void outputs_of_tile(const BlockedConv& task, const PhasePart& work, const RegionPixels& where, int first,
                     int count) {
  const ConvBlocking& blocking = task.blocking;
  const std::size_t taps = static_cast<std::size_t>(work.phase.tap_count);
  const int* offsets = task.tap_offsets + work.phase.first_tap;
  const TileFunction function = taps == 1 ? tile_function<1>(count) : tile_function<0>(count);
  const std::size_t corner = taps == 1 ? static_cast<std::size_t>(offsets[0]) : 0;
  const auto sources = static_cast<std::size_t>(task.source.channels);
  const std::size_t padded =
      static_cast<std::size_t>((task.targets + packed_block - 1) / packed_block) * packed_block;
  const float* packed =
      task.packed + padded * sources * work.phase.first_tap + work.first_source * taps * packed_block;
  Tile tile{};
  tile.source_plane = pixels(static_cast<std::size_t>(blocking.source_rows) * blocking.source_columns);
  tile.target_plane = task.target.plane;
  tile.tap_offsets = offsets;
  tile.taps = work.phase.tap_count;
  tile.sources = work.sources;
  tile.first = work.first_source == 0;
  for (int o = work.output; o < work.end; o += tile_outputs) {
    tile.outputs = smaller(tile_outputs, work.end - o);
    tile.weight = packed + sources * taps * (o / packed_block * packed_block) + o % packed_block;
    tile.bias = task.bias == nullptr ? nullptr : task.bias + o;
    for (int part = 0; part < parts; ++part) {
      for (int p = 0; p < count; ++p) {
        tile.pixel[p] = task.region + where.source[first + p] + corner + part * width;
        tile.target[p] = task.target.data + where.target[first + p] + o * task.target.plane + part * width;
      }
      function(tile);
    }
  }
}

/// Pixels of the next tile: three, or two if four or two are left.
int next_count(int left) { return left == 4 || left == 2 ? 2 : left >= 3 ? 3 : 1; }

/// Targets of which all pixels of a region are computed one after the other. A target of few products takes
/// less time than writing it: each plane is then written in one go. Otherwise the pixels of a tile stay in
/// the first-level cache for many targets.
int targets_at_once(const ConvBlocking& blocking, int products) {
  constexpr int few = 64;
  return products <= few ? tile_outputs : blocking.targets;
}

void run_region(const BlockedConv& task, const GridRegion& region) {
  const ConvBlocking& blocking = task.blocking;
  for (int c = 0; c < task.source.channels; c += blocking.sources) {
    const int sources = smaller(blocking.sources, task.source.channels - c);
    copy_region(task.source,
                {c, sources, region.row * task.step + blocking.first_row, blocking.source_rows,
                 region.column * task.step + blocking.first_column, blocking.source_columns},
                task.region);
    for (int i = 0; i < task.phase_count; ++i) {
      const RegionPixels where = locate(task, task.phases[i], region);
      const int targets = targets_at_once(blocking, sources * task.phases[i].tap_count);
      for (int o = 0; o < task.targets; o += targets) {
        const PhasePart work{task.phases[i], c, sources, o, smaller(o + targets, task.targets)};
        for (int p = 0; p < where.count;) {
          const int count = next_count(where.count - p);
          outputs_of_tile(task, work, where, p, count);
          p += count;
        }
      }
    }
  }
}

using PackedFloats = hn::CappedTag<float, packed_block>;

/// Packs the filters of a whole block of targets.
void pack_block(const PackWeights& task, const float* weight, float* packed) {
  constexpr PackedFloats d;
  constexpr hn::RebindToSigned<PackedFloats> indices;
  const auto stride = static_cast<std::int32_t>(task.target_stride);
  const auto offsets = hn::Mul(hn::Iota(indices, 0), hn::Set(indices, stride));
  for (int source = 0; source < task.sources; ++source, weight += task.source_stride) {
    for (int t = 0; t < task.tap_count; ++t) {
      const float* filter = weight + task.taps[t].weight;
      for (int i = 0; i < packed_block; i += static_cast<int>(hn::Lanes(d)), packed += hn::Lanes(d)) {
        hn::Store(hn::GatherIndex(d, filter + i * task.target_stride, offsets), d, packed);
      }
    }
  }
}

/// Packs the filters of the last targets, with zeros for missing targets.
void pack_last_block(const PackWeights& task, int target, float* packed) {
  for (int source = 0; source < task.sources; ++source) {
    const float* weight = task.weight + static_cast<std::size_t>(source) * task.source_stride;
    for (int t = 0; t < task.tap_count; ++t) {
      for (int i = target; i < target + packed_block; ++i, ++packed) {
        const std::size_t offset = static_cast<std::size_t>(i) * task.target_stride;
        *packed = i < task.targets ? weight[offset + task.taps[t].weight] : 0.0F;
      }
    }
  }
}

}  // namespace

void blocked_conv(const BlockedConv& task) {
  const ConvBlocking& blocking = task.blocking;
  for (int r = 0; r < task.target.rows; r += blocking.rows) {
    const int rows = smaller(blocking.rows, task.target.rows - r);
    for (int q = 0; q < task.target.columns; q += blocking.columns) {
      run_region(task, {r, rows, q, smaller(blocking.columns, task.target.columns - q)});
    }
  }
}

void pack_weights(const PackWeights& task) {
  const std::size_t depth = static_cast<std::size_t>(task.sources) * task.tap_count;
  for (int target = 0; target < task.targets; target += packed_block) {
    float* packed = task.packed + depth * target;
    if (target + packed_block <= task.targets) {
      pack_block(task, task.weight + target * task.target_stride, packed);
    } else {
      pack_last_block(task, target, packed);
    }
  }
}

const BlockedConvKernels blocked_conv_kernels{.pack_weights = pack_weights,
                                              .conv = blocked_conv,
                                              .weights = blocked_conv_weights,
                                              .unpack_weight_sums = unpack_weight_sums,
                                              .weights_scratch = blocked_conv_weights_scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
