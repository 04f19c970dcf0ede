#include "ops/cuda/dnn/convolution.h"

namespace lockstep::cuda {

Op plan(const Conv2d& conv, const OpRequest& request) {
  return plan_convolution(request, {.groups = conv.groups, .bias = conv.bias});
}

}  // namespace lockstep::cuda
