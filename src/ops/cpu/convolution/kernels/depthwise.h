#pragma once

#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Convolution of each channel with its own filter, for one group of images. Grid pixel (i, j) of every
/// phase: the bias, plus weight * source, taps ascending.
struct DepthwiseConv {
  PixelPlanes source;
  int step;
  const ConvTap* taps;
  const ConvPhase* phases;
  int phase_count;
  const float* weight;  ///< [channel][filter]
  int filter;
  const float* bias;  ///< null: zeros
  int source_rows;    ///< read by a band of grid rows
  int source_columns;
  int first_row;  ///< of a band's source, relative to its first grid row
  int first_column;
  int band_rows;  ///< grid rows of a band
  PixelGrid target;
  float* band;  ///< scratch: source_rows * source_columns * 16 floats
};

/// Gradient of the weights from all groups of images. Order of additions per weight: (group, row, column)
/// ascending per image, then the images as in fold_lanes.
struct DepthwiseConvWeights {
  DepthwiseConv forward;  ///< source of the first group; one phase; target and bias are unused
  PixelPlanes grad;       ///< of the first group, the same channels
  int groups;
  std::size_t source_stride;  ///< of groups, in pixels
  std::size_t grad_stride;
  float* grad_weight;
  float* grad_band;  ///< scratch: a band of the gradient if it has masks
  float* sums;       ///< scratch: tap_count * 16 floats
};

/// Gradient of the bias: sum over all pixels, (group, pixel) ascending per image, then the images as in
/// fold_lanes.
struct BiasGradient {
  int groups;
  PixelPlanes grad;  ///< of the first group
  float* grad_bias;
};

struct DepthwiseKernels {
  void (*conv)(const DepthwiseConv&);
  void (*weights)(const DepthwiseConvWeights&);
  void (*bias_gradient)(const BiasGradient&);
};
LOCKSTEP_KERNEL_TABLE(DepthwiseKernels, depthwise_kernels)

}  // namespace lockstep::cpu
