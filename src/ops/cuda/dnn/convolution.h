#pragma once

#include "ops/cuda/op.h"

namespace lockstep::cuda {

/// Common part of conv2d and linear: a convolution with bias and the node's epilogue.
struct ConvolutionOptions {
  int groups = 1;  ///< the network's
  bool bias = false;
};
Op plan_convolution(const OpRequest& request, const ConvolutionOptions& options);

}  // namespace lockstep::cuda
