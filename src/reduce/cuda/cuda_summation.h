#pragma once

#include <memory>

#include "device/device.h"
#include "reduce/summation.h"

namespace lockstep::cuda {

/// Additions of arenas in a GPU's memory, given to `stream`. Both outlive it.
std::unique_ptr<Summation> make_cuda_summation(Device& device, const Stream& stream);

}  // namespace lockstep::cuda
