#pragma once

#include <memory>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// Linear layers fc1, fc2, ... with ReLU between them; `widths` are the features of all but the last. With
/// {256} the multilayer perceptron of "Dive into Deep Learning" (Zhang et al.): 203,530 parameters for
/// 1x28x28 images and 10 classes.
std::unique_ptr<Network> mlp(Shape input, int classes, const std::vector<int>& widths);

}  // namespace lockstep
