#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

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

/// Amounts in scratch memory at once; no bit of a result depends on them.
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

struct WinogradKernels {
  void (*conv)(const WinogradConv&);
  void (*backward_weights)(const WinogradBackwardWeights&);
  std::size_t (*conv_scratch)(const WinogradShape&, const WinogradBlocks&);
  std::size_t (*backward_weights_scratch)(const WinogradShape&, const WinogradBlocks&);
};
LOCKSTEP_KERNEL_TABLE(WinogradKernels, winograd_kernels)

#ifdef LOCKSTEP_LEVEL
namespace LOCKSTEP_LEVEL {
// Each in its own source.
void winograd_backward_weights(const WinogradBackwardWeights& task);
std::size_t winograd_backward_weights_scratch(const WinogradShape& shape, const WinogradBlocks& blocks);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
