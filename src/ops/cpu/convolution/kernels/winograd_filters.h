#pragma once

#include "ops/cpu/convolution/kernels/winograd_transforms.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd {

/// Task that transforms the filters of a block of output channels and a block of input channels.
struct FilterTask {
  const float* weight;  ///< [out][in][3][3]
  bool transposed;      ///< whether weight is [in][out][3][3], rotated by 180 degrees
  int out_channels;
  int in_channels;
  int first_output;
  int outputs;
  int first_channel;
  int channels;
  float* result;  ///< [36][outputs / output_block][channels][output_block]; zeros after the last output
  std::size_t position_step;
};

/// Number of output channels in a register block.
constexpr int output_block = many_registers ? 8 : 4;

/// Rounds a number of output channels up to whole vectors of filters.
HWY_INLINE int padded_outputs(int count) {
  const int unit = larger(width, output_block);
  return (count + unit - 1) / unit * unit;
}

void transform_filters(const FilterTask& task);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL::winograd
