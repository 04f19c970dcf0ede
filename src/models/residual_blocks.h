#pragma once

#include <string>

#include "lockstep/network.h"

namespace lockstep {

/// Building block of residual networks (He et al., "Deep Residual Learning for Image Recognition", 2016).
/// Layers are called NAME.conv1, NAME.bn1, ...; weights are initialized as in torchvision.
struct ResidualBlock {
  int channels = 0;  ///< of the 3x3 convolutions
  int stride = 1;
  std::string name;
};

/// Convolution without bias, with padding kernel / 2 and weights by he_fan_out.
Value residual_conv(Value x, const std::string& name, int channels, int kernel, int stride = 1);

/// Two 3x3 convolutions (figure 5, left).
Value basic_block(Value x, const ResidualBlock& block);

/// 1x1, 3x3 and 1x1 convolutions, the last with four times the channels (figure 5, right). The 3x3
/// convolution has the stride, as in ResNet v1.5.
Value bottleneck_block(Value x, const ResidualBlock& block);

}  // namespace lockstep
