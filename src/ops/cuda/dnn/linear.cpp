#include "ops/cuda/dnn/convolution.h"

namespace lockstep::cuda {

/// A convolution of images of one pixel.
Op plan(const Linear& linear, const OpRequest& request) {
  return plan_convolution(request, {.bias = linear.bias});
}

}  // namespace lockstep::cuda
