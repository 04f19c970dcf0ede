#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Optional ReLU, then average pooling of window x window pixels with stride `window`, which is at least 2.
struct PoolEpilogue {
  bool relu;
  int window;
};

/// Computes the gradient before ReLU and pooling from the gradient after them, for some channels and rows.
struct Expand {
  PoolEpilogue epilogue;
  int channels;
  int rows;                ///< before pooling, a multiple of the window
  int columns;             ///< before pooling, a multiple of the window
  const float* grad;       ///< [channel][rows / window][columns / window][16]
  std::size_t grad_plane;  ///< stride of channels, in floats
  const std::uint16_t* masks;
  std::size_t mask_plane;
  float* output;  ///< [channel][rows][columns][16]
  std::size_t output_plane;
};

/// Sizes of a convolution whose input includes padding.
struct ConvGeometry {
  int in_channels;
  int in_height;
  int in_width;
  int out_channels;
  int out_height;  ///< before pooling, excluding rows that pooling drops
  int out_width;   ///< before pooling, excluding columns that pooling drops
  int kernel;      ///< rows and columns of the kernel
  int stride;
};

/// Forward pass of one group of images. Order of additions: the bias, then (channel, kernel row, kernel
/// column) ascending.
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

/// Gradient of the input of one group of images. Order of additions per input pixel: tiles of output columns
/// ascending (8 wide, then 4, 2 and 1; with stride 2, at most 4 wide); within a tile, (out channel, kernel
/// row, kernel column) ascending. With strides above 2, or kernel widths other than 1, 2, 3, 5 and 7: (out
/// channel, kernel row, kernel column, output column) ascending.
struct ConvBackwardData {
  ConvGeometry geometry;
  int padding;
  const float* grad_output;  ///< [out][out_height][out_width][16]
  const float* weight;
  float* grad_input;  ///< [in][in_height - 2 padding][in_width - 2 padding][16], written
  float* row;         ///< scratch: in_channels * in_width * 16 floats; null without padding
};

/// Gradients of weights and biases from all groups of images. Order of additions: (group, row, column)
/// ascending per image, then the images in pairs (l, l + 8), (l, l + 4), (l, l + 2), (l, l + 1).
struct ConvBackwardWeights {
  ConvGeometry geometry;
  int groups;
  const float* input;          ///< padded, groups one after the other
  const float* grad_output;    ///< after the epilogue if `expand`, else before it
  bool expand;                 ///< whether to undo the epilogue
  PoolEpilogue epilogue;       ///< used with `expand`
  const std::uint16_t* masks;  ///< used with `expand`
  float* grad_weight;
  float* grad_bias;  ///< may be null
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
// Defined in separate source files.
void expand(const Expand& task);
void conv_backward_data(const ConvBackwardData& task);
void conv_backward_weights(const ConvBackwardWeights& task);
std::size_t conv_backward_weights_scratch(const ConvGeometry& geometry, const PoolEpilogue& epilogue,
                                          bool expand);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
