#pragma once

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Whether each channel is convolved with one kernel of its own.
bool is_depthwise(const ConvProblem& problem);

/// Returns our own kernels for problems that are depthwise; those of cuDNN are much slower. Products and sums
/// are floats with every type, so tf32 is as exact as fp32.
Dnn& depthwise_convolutions();

}  // namespace lockstep::cuda
