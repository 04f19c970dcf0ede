#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/blocked_conv.h"
#include "ops/pool_range.h"

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
  float* grad_bias;  ///< or null
  float* scratch;    ///< conv_backward_weights_scratch() floats
};

/// A 3 x 3 convolution of stride 1 by Winograd's algorithm; see winograd_transforms.h and winograd_tiles.h.
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
  int tiles;     ///< of 4 x 4 outputs of 16 images
  int outputs;   ///< output channels, a multiple of 16
  int channels;  ///< input channels whose filters are transformed, or whose gradients are summed, at once
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

/// Pooling of all channels of all groups: sums and comparisons by rows, then columns, ascending; gradients
/// are added in the order of the outputs.
struct PoolTask {
  int channels;  ///< of all groups
  int in_height;
  int in_width;
  int out_height;
  int out_width;
  const PoolRange* rows;     ///< one per output row
  const PoolRange* columns;  ///< one per output column
};

struct BatchNormShape {
  int groups;
  int samples;
  int channels;
  std::size_t plane;  ///< pixels of a channel
};

enum class NormActivation { none, relu, relu6 };

/// output = activation((input - mean) * inverse_deviation * weight + bias + residual) per channel. Sums over
/// a channel: (group, pixel) ascending per image in four chains by pixel % 4, then chains, then images.
struct BatchNormForward {
  BatchNormShape shape;
  bool training;  ///< mean and variance are measured and written; else read
  NormActivation activation;
  float eps;
  const float* input;
  const float* residual;  ///< or null
  const float* weight;
  const float* bias;
  float* output;
  float* mean;
  float* variance;  ///< divided by the number of values
  float* inverse_deviation;
};
struct BatchNormBackward {
  BatchNormShape shape;
  NormActivation activation;
  const float* input;
  const float* output;  ///< read where there is an activation
  const float* grad_output;
  const float* weight;
  const float* mean;
  const float* inverse_deviation;
  float* grad_input;     ///< or null
  float* grad_residual;  ///< or null
  float* grad_weight;
  float* grad_bias;
};

enum class ActivationKind { relu6, silu, gelu };

/// Target of a sample: (1 - smoothing) (share * its label + (1 - share) * the other) + smoothing / classes.
struct CrossEntropyTask {
  int groups;
  int classes;
  float smoothing;
  const float* logits;               ///< [group][class][16]
  const std::int32_t* labels;        ///< [group][16], -1: no sample
  const std::int32_t* other_labels;  ///< null: share is 1
  const float* shares;               ///< null with other_labels
  float* grad;                       ///< null, or of the logits' shape
  std::int32_t* predictions;  ///< null, or [group][16]: class of the largest logit, the lowest of equals
  double loss;                ///< result
  std::uint64_t correct;      ///< result
  std::uint64_t correct5;     ///< result: fewer than 5 logits are above that of the label
};

struct Kernels {
  void (*conv_forward)(const ConvForward&);
  void (*conv_backward_data)(const ConvBackwardData&);
  void (*conv_backward_weights)(const ConvBackwardWeights&);
  void (*expand)(const Expand&);
  void (*pack_weights)(const PackWeights&);
  void (*blocked_conv)(const BlockedConv&);
  void (*blocked_conv_weights)(const BlockedConvWeights&);
  void (*unpack_weight_sums)(const UnpackWeightSums&);
  void (*depthwise_conv)(const DepthwiseConv&);
  void (*depthwise_conv_weights)(const DepthwiseConvWeights&);
  void (*bias_gradient)(const BiasGradient&);
  void (*linear_forward)(const LinearTask&);
  void (*linear_backward_data)(const LinearTask&);
  void (*linear_backward_weights)(const LinearTask&);
  void (*avg_pool_forward)(const PoolTask&, const float* input, float* output);
  void (*avg_pool_backward)(const PoolTask&, const float* grad_output, float* grad_input);
  void (*max_pool_forward)(const PoolTask&, const float* input, float* output);
  /// To the first largest value of each window.
  void (*max_pool_backward)(const PoolTask&, const float* input, const float* grad_output, float* grad_input);
  void (*batch_norm_forward)(const BatchNormForward&);
  void (*batch_norm_backward)(const BatchNormBackward&);
  void (*activate)(ActivationKind, std::size_t pixels, const float* input, float* output);
  void (*activate_backward)(ActivationKind, std::size_t pixels, const float* input, const float* grad_output,
                            float* grad_input);
  /// `pixels` blocks of 16 images; NaN passes. In place allowed.
  void (*relu)(std::size_t pixels, const float* input, float* output, std::uint16_t* masks);
  void (*add)(std::size_t pixels, const float* a, const float* b, float* output);
  /// input * scale where an image's bit is set, else 0.
  void (*select)(std::size_t pixels, float scale, const std::uint16_t* masks, const float* input,
                 float* output);
  void (*cross_entropy)(CrossEntropyTask&);
  /// `columns` bytes of each of 16 images -> [columns][16] floats, value / 255; no byte after them is read.
  /// Null: zeros.
  void (*gather_row)(const std::uint8_t* const* images, int columns, float* output);
  /// Of each of `pixels` blocks, the first `count` lanes become (value - mean) / deviation.
  void (*normalize)(std::size_t pixels, int count, float mean, float deviation, float* values);
  /// values = fma(share, values, (1 - share) * others); `shares` has 16 lanes.
  void (*blend)(std::size_t pixels, const float* shares, const float* others, float* values);
  std::size_t (*conv_forward_scratch)(const ConvGeometry&, const PoolEpilogue&);
  std::size_t (*conv_backward_weights_scratch)(const ConvGeometry&, const PoolEpilogue&, bool expand);
  std::size_t (*blocked_conv_weights_scratch)(int lane_channels);
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
