#pragma once

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Whether each channel is convolved with one kernel of its own.
bool is_depthwise(const ConvProblem& problem);

/// Plans our own kernels for a problem that is depthwise, as Dnn::plan does; those of cuDNN are much slower.
/// Products and sums are floats with every type, so tf32 is as exact as fp32.
DnnOperation plan_depthwise(const ConvTask& task);

}  // namespace lockstep::cuda
