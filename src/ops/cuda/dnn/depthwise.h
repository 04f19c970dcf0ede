#pragma once

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Depthwise convolutions by kernels of our own: those of cuDNN are slow. `problem`: is_depthwise.
Dnn& depthwise_convolutions();

}  // namespace lockstep::cuda
