#include "ops/cuda/convolution.h"

namespace lockstep::cuda {

Op plan_conv2d(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  return plan_convolution(request, {.groups = options.groups, .bias = options.bias});
}

}  // namespace lockstep::cuda
