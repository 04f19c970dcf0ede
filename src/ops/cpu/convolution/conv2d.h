#pragma once

#include "ops/cpu/op.h"

/// Implementations of Conv2d.
namespace lockstep::cpu {

/// Supports any kernel, stride, padding, dilation, groups, bias and ReLU, but no pooling.
Op plan_blocked_conv2d(const OpRequest& request);
/// Supports average pooling inside the kernel, without storing unpooled pixels; neither groups nor dilation.
Op plan_pooled_conv2d(const OpRequest& request);
/// Supports as many groups as input and output channels, otherwise as plan_blocked_conv2d.
Op plan_depthwise_conv2d(const OpRequest& request);

/// Whether a convolution uses Winograd's algorithm: 3 x 3, stride 1, padding up to 2, at least 16 input and
/// output channels, no pooling, and images that fill at least half of the 4 x 4 output tiles. Depends on the
/// shape only, since the choice determines the bits of the result.
bool suits_winograd(const OpRequest& request);

/// Supports 3 x 3 convolutions of stride 1 and padding up to 2 without pooling, as F(4 x 4, 3 x 3); any
/// number of channels and any image size. Rounding errors are about five times those of the other
/// implementations.
Op plan_winograd(const OpRequest& request);

}  // namespace lockstep::cpu
