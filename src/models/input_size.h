#pragma once

#include <string>

#include "lockstep/shape.h"

namespace lockstep {

/// Throws Error(usage) naming the model when images are smaller than `least` x `least` pixels.
void require_input(const std::string& model, Shape input, int least);

}  // namespace lockstep
