#pragma once

#include <memory>

#include "lockstep/network.h"

namespace lockstep {

/// AlexNet on one device (Krizhevsky, "One weird trick for parallelizing convolutional neural networks",
/// 2014), as torchvision has it: 61,100,840 parameters for 3x224x224 images and 1,000 classes.
std::unique_ptr<Network> alexnet(Shape input, int classes);

}  // namespace lockstep
