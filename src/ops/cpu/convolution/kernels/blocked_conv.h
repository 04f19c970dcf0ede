#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

/// Convolutions as blocked multiplications: what the plan decides from shapes, and the tasks of the kernels.
/// Plain structs: this header is seen by every instruction set.
namespace lockstep::cpu {

/// Packed weights hold their output channels in blocks of this many.
constexpr int packed_block = 8;
/// Most pixels of a region.
constexpr int region_pixels = 56;
/// Output pixels whose contributions to a weight's gradient are added to each other first.
constexpr int band_pixels = 16;
/// Most pixels that the kernel of weights' gradients prepares at once: a few bands.
constexpr int weight_pixels = 64;
/// Sums of weights' gradients are kept in rows of a multiple of this many lanes.
constexpr int sum_lanes = 32;

/// One weight of a filter: where it reads, relative to the pixel that a grid pixel starts from, and its place
/// in the filter.
struct ConvTap {
  int row;
  int column;
  int weight;
};

/// Output pixels that have the same taps: some of a list, for a grid that starts in the middle of a plane.
struct ConvPhase {
  int first_tap;
  int tap_count;
  std::size_t target_offset;  ///< floats from the first pixel of a plane to that of the grid
  int rows;
  int columns;
};

/// Channels of one group; pixels outside of the planes are zeros.
struct PixelPlanes {
  const float* data;           ///< [channel][row][column][16]
  const std::uint16_t* masks;  ///< null, or [channel][row][column]: images without their bit are zeros
  int channels;
  int height;
  int width;
};

/// Places of output pixels.
struct PixelGrid {
  float* data;
  std::size_t plane;  ///< floats from channel to channel
  std::size_t row;    ///< floats from grid row to grid row
  std::size_t column;
  int rows;  ///< of the largest phase
  int columns;
};

/// Sizes of the blocks; of no influence on bits.
struct ConvBlocking {
  int rows, columns;                ///< of the grid in a region, at most region_pixels together
  int source_rows, source_columns;  ///< that a region reads
  int first_row, first_column;      ///< of them, relative to the region's first pixel
  int sources;                      ///< input channels at once: their pixels of a tile stay in L1
  int targets;                      ///< output channels at once: their weights stay in L2
};

/// weight[target * target_stride + source * source_stride + tap.weight] ->
/// [block of 8 targets][source][tap][8 targets]; zeros for targets that do not exist.
struct PackWeights {
  const float* weight;
  std::size_t target_stride;
  std::size_t source_stride;
  int targets;
  int sources;
  const ConvTap* taps;
  int tap_count;
  float* packed;
};

/// One group. Grid pixel (i, j) of every phase and target: from the bias, plus weight * source(i * step +
/// tap.row, j * step + tap.column), (source, tap) ascending.
struct BlockedConv {
  ConvBlocking blocking;
  PixelPlanes source;
  int step;
  const int* tap_offsets;  ///< of each tap in a region: floats from its first pixel
  const ConvPhase* phases;
  int phase_count;
  const float* packed;  ///< of each phase: see PackWeights
  const float* bias;    ///< null: zeros
  int targets;
  PixelGrid target;
  float* region;  ///< scratch: blocking's sources * source_rows * source_columns * 16 floats
};

/// One group is added to sums[factor channel * tap_count + tap][lane channel]: lane(i * lane_step, j *
/// lane_step) * factor(i * factor_step + tap.row, ...). Row-major pixels of the grid form equal bands of at
/// most band_pixels; (pixel, image) ascending inside a band, then bands ascending.
struct BlockedConvWeights {
  PixelPlanes lane;    ///< its channels go into SIMD lanes
  PixelPlanes factor;  ///< its pixels are broadcast
  int lane_step;
  int factor_step;
  int rows, columns;   ///< of the grid
  int pixels_at_once;  ///< of no influence on bits; at most weight_pixels
  const ConvTap* taps;
  int tap_count;
  float* sums;     ///< rows of weight_sums_width() floats, as many as factors * taps, rounded up to 16
  float* scratch;  ///< blocked_conv_weights_scratch(lane channels) floats
};

/// Sums to their places: weight[lane * lane_stride + factor * factor_stride + tap.weight].
struct UnpackWeightSums {
  const float* sums;
  int lanes;
  int factors;
  const ConvTap* taps;
  int tap_count;
  std::size_t lane_stride;
  std::size_t factor_stride;
  float* weight;
};

constexpr std::size_t weight_sums_width(int channels) {
  return static_cast<std::size_t>((channels + sum_lanes - 1) / sum_lanes) * sum_lanes;
}

struct BlockedConvKernels {
  void (*pack_weights)(const PackWeights&);
  void (*conv)(const BlockedConv&);
  void (*weights)(const BlockedConvWeights&);
  void (*unpack_weight_sums)(const UnpackWeightSums&);
  std::size_t (*weights_scratch)(int lane_channels);
};
LOCKSTEP_KERNEL_TABLE(BlockedConvKernels, blocked_conv_kernels)

#ifdef LOCKSTEP_LEVEL
namespace LOCKSTEP_LEVEL {
// Each in its own source.
void blocked_conv_weights(const BlockedConvWeights& task);
std::size_t blocked_conv_weights_scratch(int lane_channels);
void unpack_weight_sums(const UnpackWeightSums& task);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
