#pragma once

#include <cstdint>
#include <string>

#include "lockstep/network.h"

namespace lockstep {

/// Name and options of an operation, in PyTorch's words: "conv2d 3x3 stride 2 padding 1", "relu".
std::string describe(const Operation& operation);

/// Multiplications of a layer, each with an addition, forward for one image: convolutions and linear layers;
/// 0 for others. Padding counts, cropping does not: the number that papers and torchvision give.
std::uint64_t multiply_adds(const Network& network, const Network::Layer& layer);

}  // namespace lockstep
