#pragma once

#include <memory>

#include "gradient/summation.h"

namespace lockstep::cuda {

/// Summation on a CUDA device, which must outlive the summation.
std::unique_ptr<Summation> make_summation(Device& device);

}  // namespace lockstep::cuda
