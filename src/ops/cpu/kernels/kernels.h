#pragma once

#include <cstddef>
#include <cstdint>

/// The arithmetic of the CPU operations, compiled once per instruction set into a table of functions.
/// Activations are [channel][row][column][16 images]; a "group" is one such block. The order of the
/// additions behind every result is fixed by the shapes: no table differs from another by one bit.
/// Plain structs without member functions: this header is seen by every instruction set.
namespace lockstep::cpu {

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

/// ReLU (optional), then the average of window x window pixels with stride `window`; 1: none.
struct PoolEpilogue {
  bool relu;
  int window;
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
  float* grad_bias;
  float* scratch;  ///< conv_backward_weights_scratch() floats
};

/// A 3 x 3 convolution of stride 1 by Winograd's algorithm; see winograd_transforms.h.
struct WinogradShape {
  int in_channels;
  int in_height;  ///< without padding
  int in_width;
  int out_channels;
  int out_height;
  int out_width;
  int padding;  ///< before the first row and column; whatever is read beyond the input is zero
};

/// What is in scratch memory at once; no bit of a result depends on it.
struct WinogradBlocks {
  int tiles;          ///< of 4 x 4 outputs of 16 images
  int outputs;        ///< output channels, a multiple of 16
  int channels;       ///< input channels whose filters are transformed at once
  bool keep_filters;  ///< transformed filters: those of all outputs, or of one block at a time
};

/// All groups; forward, and backward with respect to the data. Per position of a tile: from zero, input
/// channels ascending; the bias is added after the output transform.
struct WinogradConv {
  WinogradShape shape;
  WinogradBlocks blocks;
  int groups;
  const float* input;
  const std::uint16_t* input_masks;  ///< null, or [group][in][row][column], a bit per image: others are zeros
  const float* weight;               ///< [out][in][3][3]
  bool transposed;                   ///< weight is [in][out][3][3] and turned by 180 degrees
  const float* bias;                 ///< null: zeros
  float* output;
  std::uint16_t* output_masks;  ///< null, or ReLU: [group][out][row][column], a bit per image that passed
  float* scratch;               ///< winograd_conv_scratch() floats
};

/// All groups. Per position and pair of channels: (tile, image) ascending, tiles in the order (group, row,
/// column). Biases: see winograd_backward_weights.cpp.
struct WinogradBackwardWeights {
  WinogradShape shape;
  WinogradBlocks blocks;  ///< channels and keep_filters are not used
  int groups;
  const float* input;
  const float* grad_output;    ///< zeros in missing images
  const std::uint16_t* masks;  ///< null, or those of grad_output
  float* grad_weight;
  float* grad_bias;  ///< null: not wanted
  float* scratch;    ///< winograd_backward_weights_scratch() floats
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

/// y = W x + b for all groups: [group][inputs][16] -> [group][outputs][16].
struct LinearTask {
  int groups;
  int samples;
  int inputs;
  int outputs;
  const float* input;
  const float* weight;  ///< [outputs][inputs]
  const float* bias;
  float* output;
  const float* grad_output;
  float* grad_input;
  float* grad_weight;
  float* grad_bias;
  float* scratch;  ///< linear_scratch() floats
};

/// Average pooling of one group on its own, any window and stride.
struct PoolTask {
  int channels;
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  int window;
  int stride;
};

struct CrossEntropyTask {
  int groups;
  int classes;
  const float* logits;         ///< [group][class][16]
  const std::int32_t* labels;  ///< [group][16], -1: no sample
  float* grad;                 ///< null, or of the logits' shape
  double loss;                 ///< result
  std::uint64_t correct;       ///< result
};

struct Kernels {
  void (*conv_forward)(const ConvForward&);
  void (*conv_backward_data)(const ConvBackwardData&);
  void (*conv_backward_weights)(const ConvBackwardWeights&);
  void (*expand)(const Expand&);
  void (*linear_forward)(const LinearTask&);
  void (*linear_backward_data)(const LinearTask&);
  void (*linear_backward_weights)(const LinearTask&);
  void (*pool_forward)(const PoolTask&, const float* input, float* output);
  void (*pool_backward)(const PoolTask&, const float* grad_output, float* grad_input);
  /// `pixels` blocks of 16 images; NaN passes. In place allowed.
  void (*relu)(std::size_t pixels, const float* input, float* output, std::uint16_t* masks);
  void (*add)(std::size_t pixels, const float* a, const float* b, float* output);
  void (*cross_entropy)(CrossEntropyTask&);
  /// `columns` bytes of each of 16 images -> [columns][16] floats, value / 255; no byte after them is read.
  /// Null: zeros.
  void (*gather_row)(const std::uint8_t* const* images, int columns, float* output);
  std::size_t (*conv_forward_scratch)(const ConvGeometry&, const PoolEpilogue&);
  std::size_t (*conv_backward_weights_scratch)(const ConvGeometry&, const PoolEpilogue&, bool expand);
  std::size_t (*linear_scratch)(int inputs, int samples);
  void (*winograd_conv)(const WinogradConv&);
  void (*winograd_backward_weights)(const WinogradBackwardWeights&);
  std::size_t (*winograd_conv_scratch)(const WinogradShape&, const WinogradBlocks&);
  std::size_t (*winograd_backward_weights_scratch)(const WinogradShape&, const WinogradBlocks&);
};

namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
namespace neon {
extern const Kernels kernels;
}

}  // namespace lockstep::cpu
