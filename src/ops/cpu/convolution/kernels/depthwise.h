#pragma once

#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// One group of a convolution of each channel with its own filter: grid pixel (i, j) of every phase: from the
/// bias, plus weight * source, taps ascending.
struct DepthwiseConv {
  PixelPlanes source;
  int step;
  const ConvTap* taps;
  const ConvPhase* phases;
  int phase_count;
  const float* weight;  ///< [channel][filter]
  int filter;
  const float* bias;  ///< null: zeros
  int source_rows;    ///< of a band of grid rows, in scratch
  int source_columns;
  int first_row;  ///< of a band, relative to the first grid row's
  int first_column;
  int band_rows;  ///< of the grid
  PixelGrid target;
  float* band;  ///< scratch: source_rows * source_columns * 16 floats
};

/// All groups. Per weight and image: (group, row, column) ascending, then the images as fold_lanes does.
struct DepthwiseConvWeights {
  DepthwiseConv forward;  ///< source: of the first group; one phase; target and bias are not read
  PixelPlanes grad;       ///< of the first group
  int groups;
  float* grad_weight;
  float* grad_band;  ///< scratch for a band of the gradient where it has masks
  float* sums;       ///< scratch: tap_count * 16 floats
};

/// Sum over all pixels: per image (group, pixel) ascending, then the images as fold_lanes does.
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
