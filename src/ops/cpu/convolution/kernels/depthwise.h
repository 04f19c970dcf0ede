#pragma once

#include "core/bfloat16.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

// Activations are stored as `Element`.

/// Convolution of each channel with a separate filter, for one group of images. Each grid pixel is the bias,
/// plus weight * source pixel for taps ascending.
template <class Element>
struct DepthwiseConv {
  StoredPlanes<Element> source;
  int step;
  const ConvTap* taps;
  const ConvPhase* phases;
  int phase_count;
  const float* weight;  ///< [channel][filter]
  int filter;           ///< number of weights per channel
  const float* bias;    ///< null: zeros
  int source_rows;      ///< number of source rows that a band of grid rows reads
  int source_columns;
  int first_row;  ///< first source row of a band, relative to the source row of its first grid row
  int first_column;
  int band_rows;  ///< number of grid rows in a band
  StoredGrid<Element> target;
  float* band;  ///< scratch: source_rows * source_columns * 16 floats
};

/// Gradient of the weights from all groups of images. Order of additions per weight: (group, row, column)
/// ascending per image, then the images as in fold_lanes.
template <class Element>
struct DepthwiseConvWeights {
  DepthwiseConv<Element> forward;  ///< source of the first group; one phase; target and bias are unused
  StoredPlanes<Element> grad;      ///< output's gradient of the first group, for the same channels
  int groups;
  std::size_t source_stride;  ///< stride of groups in the source, in pixels
  std::size_t grad_stride;    ///< stride of groups in the gradient, in pixels
  float* grad_weight;
  float* grad_band;  ///< scratch: a band of the gradient, used if the gradient has masks or is not in floats
  float* sums;       ///< scratch: tap_count * 16 floats
};

/// Gradient of the bias: sum of the output's gradient over all pixels, (group, pixel) ascending per image,
/// then the images as in fold_lanes.
template <class Element>
struct BiasGradient {
  int groups;
  StoredPlanes<Element> grad;  ///< output's gradient of the first group
  float* grad_bias;
};

template <class Element>
struct DepthwiseFunctions {
  void (*conv)(const DepthwiseConv<Element>&);
  void (*weights)(const DepthwiseConvWeights<Element>&);
  void (*bias_gradient)(const BiasGradient<Element>&);
};
struct DepthwiseKernels : DepthwiseFunctions<float> {
  DepthwiseFunctions<Bfloat16> bf16;
};
LOCKSTEP_KERNEL_TABLE(DepthwiseKernels, depthwise_kernels)

}  // namespace lockstep::cpu
