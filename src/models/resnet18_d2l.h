#pragma once

#include <memory>

#include "lockstep/network.h"

namespace lockstep {

/// The ResNet-18 for small images of "Dive into Deep Learning" (Zhang et al.), section "Concise
/// Implementation for Multiple GPUs": a 3x3 first convolution and no pooling behind it; convolutions have
/// biases, and the 1x1 convolutions of shortcuts no batch norm. 11,175,818 parameters for 1x28x28 images and
/// 10 classes.
std::unique_ptr<Network> resnet18_d2l(Shape input, int classes);

}  // namespace lockstep
