#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bfloat16.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Convolutions of bf16 as matrix products whose sums are floats.
///
/// Each sum is computed in steps of 32 products. In a step, the even and the odd products are added in two
/// chains of fused multiply-adds from zero, ascending; then the sum of both chains is added to the total.
/// This is the order of AMX's TDPBF16PS ("Intel 64 and IA-32 Architectures Software Developer's Manual",
/// volume 2); other instruction sets compute the same with floats. Operands are padded with zeros to whole
/// steps.

/// Rows and columns of a tile of sums.
constexpr int tile_size = 16;
/// Number of products that a step adds to a sum.
constexpr int step_products = 32;
/// Number of pixels per step of the weights' gradient: 2 x 16 images.
constexpr int step_pixels = 2;

constexpr int whole_tiles(int count) { return (count + tile_size - 1) / tile_size; }
constexpr int whole_steps(int products) { return (products + step_products - 1) / step_products; }

/// The pixels that a grid reads from a group of images. Each grid pixel has one element per (tap, channel),
/// in this order.
struct GridSource {
  const Bfloat16* data;  ///< [channel][pixel][16]
  std::size_t plane;     ///< pixels of a channel
  int channels;
  const std::int32_t* places;  ///< [tap][grid pixel]: a pixel of the channel, or -1: zeros
  int taps;
  int pixels;  ///< number of grid pixels
};

/// Rounds weight[row * row_stride + source * source_stride + tap.weight] to bf16 and packs the results as the
/// left operand of `multiply_pixels`: rows x (tap, source).
struct PackFactors {
  const float* weight;
  std::size_t row_stride;
  std::size_t source_stride;
  int rows;
  int sources;
  const ConvTap* taps;
  int tap_count;
  std::byte* left;  ///< whole_tiles(rows) * whole_steps(taps * sources) * tile_bytes bytes
};

/// target[row][place of the pixel][16] = bias[row] + sum of the products of the row's factors and the pixel's
/// elements, ascending.
struct PixelProduct {
  GridSource source;
  const std::byte* left;
  int rows;
  const float* bias;  ///< null: zeros
  Bfloat16* target;
  std::size_t target_plane;     ///< pixels per row of the target
  const std::int32_t* targets;  ///< place of each grid pixel
  int pixels_at_once;           ///< even; does not affect the bits of results
  std::byte* right;             ///< scratch: pixels_at_once * whole_steps(taps * channels) * tile_bytes
};

/// sums[row][column]: sums of the products of the gradient's channels (rows) and the source's elements
/// (columns), (grid pixel, image) ascending. A step has two pixels.
struct WeightProduct {
  GridSource gradient;  ///< one tap
  GridSource source;
  float* sums;             ///< whole tiles, aligned to 64 bytes
  std::size_t row_stride;  ///< stride of rows of sums, in floats
  bool add;                ///< whether to add to the sums of earlier groups of images
  // Block sizes, which do not affect the bits of results.
  int steps_at_once;
  int row_tiles_at_once;
  int column_tiles_at_once;
  std::byte* left;   ///< scratch: row tiles * steps * tile_bytes
  std::byte* right;  ///< scratch: column tiles * steps * tile_bytes
};

struct Bf16ProductKernels {
  std::size_t tile_bytes;  ///< bytes of an operand's tile: 16 rows or columns x 32 products
  void (*pack_factors)(const PackFactors&);
  void (*multiply_pixels)(const PixelProduct&);
  void (*multiply_weights)(const WeightProduct&);
  /// Benchmark that runs the multiplication instruction for bf16 4 * `rounds` times on tiles in registers.
  /// Returns the number of floating-point operations. Null if no instruction adds in the order above.
  double (*multiply_in_registers)(std::int64_t rounds);
};
LOCKSTEP_KERNEL_TABLE_WITH_AMX(Bf16ProductKernels, bf16_product_kernels)

}  // namespace lockstep::cpu
