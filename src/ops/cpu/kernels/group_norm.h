#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

struct GroupNormShape {
  int groups;  ///< of 16 images
  int channels;
  int channel_groups;  ///< divides `channels`; the channels of a channel group share mean and deviation
  std::size_t plane;   ///< pixels of a channel
};

/// output = (input - mean) * inverse_deviation * weight + bias (Wu and He, 2018). Order of additions per
/// image: pixels of a channel ascending in four sums by pixel % 4, with large planes divided into runs
/// (vectors.h); then the four sums, all in float; then channels ascending, in double. Activations are stored
/// as `Element`, here and below.
template <class Element>
struct GroupNormForward {
  GroupNormShape shape;
  float eps;
  const Element* input;
  const float* weight;  ///< [channel]
  const float* bias;
  Element* output;
  float* mean;               ///< [group][channel group][16], written
  float* inverse_deviation;  ///< [group][channel group][16], written
};

/// Sums over a channel have the same order of additions as in forward. Gradients of parameters are added in
/// double: per image, groups of images ascending; then the images in pairs (l, l + 8), (l, l + 4), (l, l +
/// 2), (l, l + 1).
template <class Element>
struct GroupNormBackward {
  GroupNormShape shape;
  const Element* input;
  const Element* grad_output;  ///< zeros in missing images
  const float* weight;
  const float* mean;
  const float* inverse_deviation;
  Element* grad_input;  ///< may be null
  float* grad_weight;
  float* grad_bias;
  float* sums;  ///< scratch: group_norm_sums() floats
};

constexpr std::size_t group_norm_sums(const GroupNormShape& shape) {
  return static_cast<std::size_t>(shape.groups) * static_cast<std::size_t>(shape.channels) * 2 * 16;
}

template <class Element>
struct GroupNormFunctions {
  void (*forward)(const GroupNormForward<Element>&);
  void (*backward)(const GroupNormBackward<Element>&);
};
struct GroupNormKernels : GroupNormFunctions<float> {
  GroupNormFunctions<Bfloat16> bf16;
};
LOCKSTEP_KERNEL_TABLE(GroupNormKernels, group_norm_kernels)

}  // namespace lockstep::cpu
