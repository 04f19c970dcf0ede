#pragma once

#include <memory>

#include "lockstep/network.h"

namespace lockstep {

/// MobileNetV2 of width 1 (Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018),
/// table 2, as torchvision has it: 3,504,872 parameters for 3x224x224 images and 1,000 classes.
std::unique_ptr<Network> mobilenet_v2(Shape input, int classes);

}  // namespace lockstep
