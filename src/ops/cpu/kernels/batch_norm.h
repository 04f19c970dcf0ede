#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

struct BatchNormShape {
  int groups;
  int samples;
  int channels;
  std::size_t plane;  ///< pixels of a channel
  bool stream;        ///< whether to write outputs and gradients of inputs by streaming stores
};

/// output = activation((input - mean) * inverse_deviation * weight + bias + residual) per channel. Order of
/// additions in sums over a channel: per image, (group, pixel) ascending in four sums by pixel % 4, with
/// large planes divided into runs (vectors.h); then the four sums are added, then the images.
template <class Element>
struct BatchNormForward {
  BatchNormShape shape;
  bool training;              ///< whether to compute and write mean and variance instead of reading them
  ActivationKind activation;  ///< none, relu or relu6
  float eps;
  const Element* input;
  const Element* residual;  ///< may be null
  const float* weight;
  const float* bias;
  Element* output;
  float* mean;
  float* variance;  ///< biased: divided by the number of values
  float* inverse_deviation;
};
template <class Element>
struct BatchNormBackward {
  BatchNormShape shape;
  ActivationKind activation;
  const Element* input;
  const Element* output;  ///< null without a residual; read only if there is an activation
  const Element* grad_output;
  const float* weight;
  const float* bias;
  const float* mean;
  const float* inverse_deviation;
  Element* grad_input;     ///< may be null
  Element* grad_residual;  ///< may be null
  float* grad_weight;
  float* grad_bias;
};

/// Functions for activations that are stored as `Element`.
template <class Element>
struct BatchNormFunctions {
  void (*forward)(const BatchNormForward<Element>&);
  void (*backward)(const BatchNormBackward<Element>&);
};
struct BatchNormKernels : BatchNormFunctions<float> {
  BatchNormFunctions<Bfloat16> bf16;
};
LOCKSTEP_KERNEL_TABLE(BatchNormKernels, batch_norm_kernels)

}  // namespace lockstep::cpu
