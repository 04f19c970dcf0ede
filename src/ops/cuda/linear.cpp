#include "ops/cuda/convolution.h"

namespace lockstep::cuda {

/// A convolution of images of one pixel.
Op plan_linear(const OpRequest& request) {
  return plan_convolution(request, {.bias = std::get<Linear>(request.node.operation).bias});
}

}  // namespace lockstep::cuda
