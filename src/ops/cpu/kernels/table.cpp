#include "ops/cpu/kernels/tables.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

const Kernels kernels{.conv_forward = conv_forward,
                      .conv_backward_data = conv_backward_data,
                      .conv_backward_weights = conv_backward_weights,
                      .expand = expand,
                      .linear_forward = linear_forward,
                      .linear_backward_data = linear_backward_data,
                      .linear_backward_weights = linear_backward_weights,
                      .pool_forward = pool_forward,
                      .pool_backward = pool_backward,
                      .relu = relu,
                      .add = add,
                      .cross_entropy = cross_entropy,
                      .gather_row = gather_row,
                      .conv_forward_scratch = conv_forward_scratch,
                      .conv_backward_weights_scratch = conv_backward_weights_scratch,
                      .linear_scratch = linear_scratch,
                      .winograd_conv = winograd_conv,
                      .winograd_backward_weights = winograd_backward_weights,
                      .winograd_conv_scratch = winograd_conv_scratch,
                      .winograd_backward_weights_scratch = winograd_backward_weights_scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
