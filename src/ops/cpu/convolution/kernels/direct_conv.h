#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// ReLU (optional), then the average of window x window pixels with stride `window`; 1: none.
struct PoolEpilogue {
  bool relu;
  int window;
};

/// Undoes an epilogue for some channels and rows: gradient before ReLU and pooling from the one after.
struct Expand {
  PoolEpilogue epilogue;
  int channels;
  int rows;                ///< before pooling, a multiple of the window
  int columns;             ///< before pooling, a multiple of the window
  const float* grad;       ///< [channel][rows / window][columns / window][16]
  std::size_t grad_plane;  ///< floats from channel to channel
  const std::uint16_t* masks;
  std::size_t mask_plane;
  float* output;  ///< [channel][rows][columns][16]
  std::size_t output_plane;
};

/// A convolution whose input already holds its padding.
struct ConvGeometry {
  int in_channels;
  int in_height;
  int in_width;
  int out_channels;
  int out_height;  ///< rows and columns that are computed: before pooling, without what pooling drops
  int out_width;
  int kernel_height;
  int kernel_width;
  int stride;
};

/// One group. Sum from the bias, then (channel, kernel row, kernel column) ascending.
struct ConvForward {
  ConvGeometry geometry;
  PoolEpilogue epilogue;
  const float* input;
  const float* weight;  ///< [out][in][row][column]
  const float* bias;
  float* output;
  std::uint16_t* masks;  ///< with ReLU: [out][row][column] before pooling, a bit per image that passed
  float* rows;           ///< scratch of conv_forward_scratch() floats
};

/// One group. Per input pixel: tiles of output columns ascending (8 wide, then 4, 2, 1; stride 2: from 4),
/// inside a tile (out channel, kernel row, kernel column) ascending. Strides above 2 and kernel widths
/// without tiles of their own: (out channel, kernel row, kernel column, output column) ascending.
struct ConvBackwardData {
  ConvGeometry geometry;
  int padding;
  const float* grad_output;  ///< [out][out_height][out_width][16]
  const float* weight;
  float* grad_input;  ///< [in][in_height - 2 padding][in_width - 2 padding][16], written
  float* row;         ///< scratch: in_channels * in_width * 16 floats; null without padding
};

/// All groups. Per weight and image: (group, row, column) ascending, then the 16 images by a fixed tree:
/// (l, l + 8), (l, l + 4), (l, l + 2), (l, l + 1). Biases alike.
struct ConvBackwardWeights {
  ConvGeometry geometry;
  int groups;
  const float* input;          ///< padded, groups one after the other
  const float* grad_output;    ///< see `expand`
  bool expand;                 ///< whether grad_output is still pooled and unmasked
  PoolEpilogue epilogue;       ///< of expand
  const std::uint16_t* masks;  ///< of expand
  float* grad_weight;
  float* grad_bias;  ///< or null
  float* scratch;    ///< conv_backward_weights_scratch() floats
};

struct DirectConvKernels {
  void (*forward)(const ConvForward&);
  void (*backward_data)(const ConvBackwardData&);
  void (*backward_weights)(const ConvBackwardWeights&);
  void (*expand)(const Expand&);
  std::size_t (*forward_scratch)(const ConvGeometry&, const PoolEpilogue&);
  std::size_t (*backward_weights_scratch)(const ConvGeometry&, const PoolEpilogue&, bool expand);
};
LOCKSTEP_KERNEL_TABLE(DirectConvKernels, direct_conv_kernels)

#ifdef LOCKSTEP_LEVEL
namespace LOCKSTEP_LEVEL {
// Each in its own source.
void expand(const Expand& task);
void conv_backward_data(const ConvBackwardData& task);
void conv_backward_weights(const ConvBackwardWeights& task);
std::size_t conv_backward_weights_scratch(const ConvGeometry& geometry, const PoolEpilogue& epilogue,
                                          bool expand);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
