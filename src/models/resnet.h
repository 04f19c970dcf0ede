#pragma once

#include <memory>

#include "lockstep/network.h"

namespace lockstep {

/// Residual networks (He et al., "Deep Residual Learning for Image Recognition", 2016), table 1, as
/// torchvision has them. Parameters for 3x224x224 images and 1,000 classes: resnet18 11,689,512, resnet34
/// 21,797,672, resnet50 (v1.5) 25,557,032.
std::unique_ptr<Network> resnet18(Shape input, int classes);
std::unique_ptr<Network> resnet34(Shape input, int classes);
std::unique_ptr<Network> resnet50(Shape input, int classes);

/// The network of 20 layers for CIFAR-10 of the same paper, section 4.2, with 1x1 convolutions where a
/// shortcut changes the shape (the paper pads channels with zeros there): 272,474 parameters for 3x32x32
/// images and 10 classes, 2,752 of them in these shortcuts.
std::unique_ptr<Network> resnet20(Shape input, int classes);

}  // namespace lockstep
