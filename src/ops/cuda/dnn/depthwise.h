#pragma once

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Whether each channel is convolved with a separate kernel.
bool is_depthwise(const ConvProblem& problem);

/// Plans lockstep's own kernels for a depthwise problem, with the contract of Dnn::plan; cuDNN's kernels are
/// much slower. Products and sums are floats with every type, so tf32 is as exact as fp32.
DnnOperation plan_depthwise(const ConvTask& task);

}  // namespace lockstep::cuda
