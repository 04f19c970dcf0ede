#include "ops/cpu/kernels/tables.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {

const Kernels kernels{.conv_forward = conv_forward,
                      .conv_backward_data = conv_backward_data,
                      .conv_backward_weights = conv_backward_weights,
                      .expand = expand,
                      .linear_forward = linear_forward,
                      .linear_backward_data = linear_backward_data,
                      .linear_backward_weights = linear_backward_weights,
                      .avg_pool_forward = avg_pool_forward,
                      .avg_pool_backward = avg_pool_backward,
                      .max_pool_forward = max_pool_forward,
                      .max_pool_backward = max_pool_backward,
                      .batch_norm_forward = batch_norm_forward,
                      .batch_norm_backward = batch_norm_backward,
                      .activate = activate,
                      .activate_backward = activate_backward,
                      .relu = relu,
                      .add = add,
                      .select = select,
                      .cross_entropy = cross_entropy,
                      .gather_row = gather_row,
                      .normalize = normalize,
                      .blend = blend,
                      .conv_forward_scratch = conv_forward_scratch,
                      .conv_backward_weights_scratch = conv_backward_weights_scratch,
                      .linear_scratch = linear_scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
