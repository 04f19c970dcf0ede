#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bfloat16.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Sizes of a 3 x 3 convolution of stride 1. See winograd_transforms.h and winograd_tiles.h for the
/// algorithm.
struct WinogradShape {
  int in_channels;
  int in_height;  ///< without padding
  int in_width;
  int out_channels;
  int out_height;
  int out_width;
  int padding;  ///< number of zeros before the first row and column; pixels beyond the input are zeros
};

/// Block sizes in scratch memory. They do not affect the bits of results.
struct WinogradBlocks {
  int tiles;     ///< tiles of 4 x 4 outputs of 16 images
  int outputs;   ///< output channels, a multiple of 16
  int channels;  ///< input channels whose filters are transformed, or whose gradients are summed, at once
  bool keep_filters;  ///< whether to keep the transformed filters of all blocks instead of one block
};

/// Convolution of all groups of images, either forward or for the input's gradient. Order of additions per
/// position of a tile: from zero, input channels ascending; the bias is added after the output transform.
/// Activations are stored as `Element`, here and below.
template <class Element>
struct WinogradConv {
  WinogradShape shape;
  WinogradBlocks blocks;
  int groups;
  const Element* input;
  const std::uint16_t*
      input_masks;      ///< [group][in][row][column]: images whose bit is 0 are read as 0; may be null
  const float* weight;  ///< [out][in][3][3]
  bool transposed;      ///< whether weight is [in][out][3][3], rotated by 180 degrees
  const float* bias;    ///< null: zeros
  Element* output;
  std::uint16_t*
      output_masks;  ///< [group][out][row][column]: a bit per image that passed ReLU; null: no ReLU
  float* scratch;    ///< winograd_conv_scratch() floats
};

/// Gradients of weights and biases from all groups of images. Order of additions per position and pair of
/// channels: (tile, image) ascending, tiles in the order of TileGrid. Biases: see
/// winograd_backward_weights.cpp.
template <class Element>
struct WinogradBackwardWeights {
  WinogradShape shape;
  WinogradBlocks blocks;  ///< keep_filters is unused
  int groups;
  const Element* input;
  const Element* grad_output;  ///< zeros in missing images
  const std::uint16_t* masks;  ///< of grad_output; may be null
  float* grad_weight;
  float* grad_bias;  ///< may be null
  float* scratch;    ///< winograd_backward_weights_scratch() floats
};

template <class Element>
struct WinogradFunctions {
  void (*conv)(const WinogradConv<Element>&);
  void (*backward_weights)(const WinogradBackwardWeights<Element>&);
};
struct WinogradKernels : WinogradFunctions<float> {
  WinogradFunctions<Bfloat16> bf16;
  std::size_t (*conv_scratch)(const WinogradShape&, const WinogradBlocks&);
  std::size_t (*backward_weights_scratch)(const WinogradShape&, const WinogradBlocks&);
};
LOCKSTEP_KERNEL_TABLE(WinogradKernels, winograd_kernels)

#ifdef LOCKSTEP_LEVEL
namespace LOCKSTEP_LEVEL {
// Defined in winograd_backward_weights.cpp.
template <class Element>
void winograd_backward_weights(const WinogradBackwardWeights<Element>& task);
std::size_t winograd_backward_weights_scratch(const WinogradShape& shape, const WinogradBlocks& blocks);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
