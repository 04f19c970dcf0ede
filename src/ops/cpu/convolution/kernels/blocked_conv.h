#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

/// Convolutions as blocked matrix products: block sizes and tasks of the kernels. Contains plain structs
/// only, because code for every instruction set includes this header.
namespace lockstep::cpu {

/// Number of output channels in a block of packed weights.
constexpr int packed_block = 8;
/// Maximum number of pixels in a register block.
constexpr int tile_pixels = 3;
/// Maximum number of pixels that are packed at once, in whole tiles.
constexpr int packed_pixels = 20 * tile_pixels;
/// Maximum number of output pixels of a band. A weight's gradient is summed within each band first.
constexpr int band_pixels = 16;
/// Maximum number of pixels, in whole bands, that the kernel of weight gradients prepares at once.
constexpr int weight_pixels = 64;
/// Rows of sums of weight gradients are padded to a multiple of this number of lanes.
constexpr int sum_lanes = 32;
/// The number of factor channels in sums of weight gradients is rounded up to a multiple of this.
constexpr int sum_factors = 4;

/// One weight of a filter.
struct ConvTap {
  int row;     ///< row of the source pixel, relative to that of the grid pixel
  int column;  ///< column of the source pixel, relative to that of the grid pixel
  int weight;  ///< position in the filter
};

/// A grid of output pixels that have the same taps.
struct ConvPhase {
  int first_tap;
  int tap_count;
  std::size_t target_offset;  ///< offset of the grid's first pixel in a plane, in elements
  int rows;
  int columns;
};

/// Channels of one group of images, stored as `Element`. Pixels outside the planes are treated as zeros.
template <class Element>
struct StoredPlanes {
  const Element* data;         ///< [channel][row][column][16]
  const std::uint16_t* masks;  ///< [channel][row][column]: images whose bit is 0 are read as 0; may be null
  int channels;
  int height;
  int width;
};
using PixelPlanes = StoredPlanes<float>;

/// Addresses of output pixels; strides are in elements.
template <class Element>
struct StoredGrid {
  Element* data;
  std::size_t plane;   ///< stride of channels
  std::size_t row;     ///< stride of grid rows
  std::size_t column;  ///< stride of grid columns
  int rows;            ///< maximum over the phases
  int columns;         ///< maximum over the phases
  bool stream;         ///< whether to write pixels by streaming stores
};

/// Sizes of blocks. They do not affect the bits of results.
struct ConvBlocking {
  int pixels;   ///< pixels packed at once, at most packed_pixels, which stay in L2
  int sources;  ///< input channels at once, whose pixels of one tile stay in L1
  int targets;  ///< output channels at once, whose weights stay in L2
};

/// Copies weight[target * target_stride + source * source_stride + tap.weight] to
/// packed[block of 8 targets][source][tap][8 targets]. Missing targets of the last block are zeros.
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

/// One phase of a convolution of one group of images. Each target pixel is the bias, plus weight * source
/// pixel for (source, tap) ascending.
struct BlockedConv {
  ConvBlocking blocking;
  PixelPlanes source;
  const std::int32_t* source_places;  ///< [tap][pixel]: pixel of a plane, or -1: zeros
  const std::int32_t* target_places;  ///< [pixel]
  int pixels;
  int pixels_to_come;  ///< number of places after these that belong to later tasks; used for prefetching only
  int taps;
  const float* packed;  ///< weights, see PackWeights
  const float* bias;    ///< null: zeros
  int targets;
  float* target;             ///< [target][pixel of a plane][16]
  std::size_t target_plane;  ///< pixels of a plane
  float* scratch;            ///< blocking's pixels * sources * taps * 16 floats
};

/// Adds up the products lane(i * lane_step, j * lane_step) * factor(i * factor_step + tap.row, j *
/// factor_step + tap.column) of one group of images in sums[factor channel * tap_count + tap][lane channel].
/// The pixels (i, j) of the grid, in row-major order, are divided into bands of about equal size, at most
/// band_pixels. Order of additions: (pixel, image) ascending within a band, then bands ascending. Several
/// tasks may process consecutive bands one after the other.
struct BlockedConvWeights {
  PixelPlanes lane;    ///< operand whose channels are placed in SIMD lanes
  PixelPlanes factor;  ///< operand whose pixels are broadcast
  int lane_step;
  int factor_step;
  int rows, columns;  ///< size of the grid
  int first_band, end_band;
  /// Whether to prefetch the factor's pixels of the bands after these, for the next task. The pixels of these
  /// bands are cached already.
  bool prefetch_next_bands;
  int pixels_at_once;  ///< at most weight_pixels; does not affect the bits of results
  const ConvTap* taps;
  int tap_count;
  bool add;        ///< whether to add to existing sums instead of starting from zero
  float* sums;     ///< factors * taps rows, rounded up to sum_factors, of weight_sums_width() floats
  float* scratch;  ///< blocked_conv_weights_scratch(lane channels) floats
};

/// Copies sums to weight[lane * lane_stride + factor * factor_stride + tap.weight].
struct UnpackWeightSums {
  const float* sums;  ///< factors * taps rows, rounded up to 16
  int lanes;
  int factors;
  const ConvTap* taps;
  int tap_count;
  std::size_t lane_stride;
  std::size_t factor_stride;
  float* weight;
};

/// Number of bands in a grid of `pixels` pixels.
constexpr int bands_of(int pixels) { return (pixels + band_pixels - 1) / band_pixels; }
/// First pixel of a band.
constexpr int begin_of_band(int pixels, int band) {
  return static_cast<int>(static_cast<std::int64_t>(band) * pixels / bands_of(pixels));
}

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
// Defined in blocked_conv_weights.cpp.
void blocked_conv_weights(const BlockedConvWeights& task);
std::size_t blocked_conv_weights_scratch(int lane_channels);
void unpack_weight_sums(const UnpackWeightSums& task);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
