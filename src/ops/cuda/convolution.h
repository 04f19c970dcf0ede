#pragma once

#include "ops/cuda/op.h"

namespace lockstep::cuda {

/// What conv2d and linear have in common: a convolution with bias and the node's epilogue.
struct ConvolutionOptions {
  int groups = 1;  ///< the network's
  bool bias = false;
};
Op plan_convolution(const OpRequest& request, const ConvolutionOptions& options);

}  // namespace lockstep::cuda
