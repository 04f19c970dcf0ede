#pragma once

#include <memory>

#include "lockstep/network.h"

namespace lockstep {

/// The LeNet of "Dive into Deep Learning" (Zhang et al.), chapter "Computational Performance", section
/// "Training on Multiple GPUs": 129,068 parameters for 1x28x28 images and 10 classes.
std::unique_ptr<Network> lenet(Shape input, int classes);

}  // namespace lockstep
