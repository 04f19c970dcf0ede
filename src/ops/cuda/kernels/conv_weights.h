#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn.h"

/// Weights between the arena, where they are PyTorch's, and the library of convolutions, which has them with
/// padded channels. Addresses are of device memory.
namespace lockstep::cuda {

/// The network's own channels and groups; the problem has the padded ones. Where the problem has one group
/// and the network several, padded weights hold zeros between the groups.
struct WeightShape {
  int out_channels = 0;
  int in_channels = 0;
  int groups = 1;
};

/// Elements of the padded weights.
std::size_t padded_weights(const ConvProblem& problem);

/// weight: float, [out channel][in channel of the group][kernel row][kernel column]; padded: of the problem's
/// type, [out channel][kernel row][kernel column][in channel of the group]. bias: float, or null where there
/// is none; padded_bias: of the problem's type.
void pad_weights(StreamHandle stream, const ConvProblem& problem, const WeightShape& shape,
                 const float* weight, const float* bias, void* padded, void* padded_bias);

/// The reverse, of a gradient, without bias.
void unpad_weights(StreamHandle stream, const ConvProblem& problem, const WeightShape& shape,
                   const void* padded, float* weight);

}  // namespace lockstep::cuda
