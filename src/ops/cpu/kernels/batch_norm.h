#pragma once

#include <cstddef>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

struct BatchNormShape {
  int groups;
  int samples;
  int channels;
  std::size_t plane;  ///< pixels of a channel
};

/// output = activation((input - mean) * inverse_deviation * weight + bias + residual) per channel. Sums of a
/// channel: per image, (group, pixel) ascending in four sums by pixel % 4; then the four sums; then the
/// images.
struct BatchNormForward {
  BatchNormShape shape;
  bool training;              ///< whether mean and variance are computed and written, not read
  ActivationKind activation;  ///< none, relu or relu6
  float eps;
  const float* input;
  const float* residual;  ///< may be null
  const float* weight;
  const float* bias;
  float* output;
  float* mean;
  float* variance;  ///< divided by the number of values
  float* inverse_deviation;
};
struct BatchNormBackward {
  BatchNormShape shape;
  ActivationKind activation;
  const float* input;
  const float* output;  ///< read if there is an activation
  const float* grad_output;
  const float* weight;
  const float* mean;
  const float* inverse_deviation;
  float* grad_input;     ///< may be null
  float* grad_residual;  ///< may be null
  float* grad_weight;
  float* grad_bias;
};

struct BatchNormKernels {
  void (*forward)(const BatchNormForward&);
  void (*backward)(const BatchNormBackward&);
};
LOCKSTEP_KERNEL_TABLE(BatchNormKernels, batch_norm_kernels)

}  // namespace lockstep::cpu
