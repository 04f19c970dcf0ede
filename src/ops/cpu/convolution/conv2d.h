#pragma once

#include "ops/cpu/op.h"

/// Plans of a Conv2d, one for each way to compute it.
namespace lockstep::cpu {

/// Plan for any kernel, stride, padding, dilation and number of groups; with or without bias and ReLU,
/// without pooling.
Op plan_blocked_conv2d(const OpRequest& request);
/// Plan without groups and dilation. Average pooling is part of the kernel: unpooled pixels are never stored.
Op plan_pooled_conv2d(const OpRequest& request);
/// Plan for as many groups as input and output channels, otherwise like plan_blocked_conv2d.
Op plan_depthwise_conv2d(const OpRequest& request);

/// Whether a convolution is computed by Winograd's algorithm: 3 x 3, stride 1, padding up to 2, at least 16
/// channels on both sides, not pooled, images that fill the tiles of 4 x 4 outputs at least by half. By shape
/// only, never by timing: it decides the bits of the result.
bool suits_winograd(const OpRequest& request);

/// Plan of a convolution of 3 x 3, stride 1 and padding up to 2, without pooling, as F(4 x 4, 3 x 3): any
/// number of channels, any size. Null biases are zeros and have no gradient. Rounding errors are about five
/// times those of the other plans.
Op plan_winograd(const OpRequest& request);

}  // namespace lockstep::cpu
