#pragma once

#include "ops/cpu/op.h"

/// The ways in which a Conv2d runs a convolution.
namespace lockstep::cpu {

/// Any kernel, stride, padding, dilation and number of groups; with or without bias and ReLU, no pooling.
Op plan_blocked_conv2d(const OpRequest& request);
/// Neither groups nor dilation; average pooling is part of the kernel, unpooled pixels are never stored.
Op plan_pooled_conv2d(const OpRequest& request);
/// As many groups as input and output channels; else alike.
Op plan_depthwise_conv2d(const OpRequest& request);

/// Whether a convolution is computed by Winograd's algorithm: 3 x 3, stride 1, padding up to 2, at least 16
/// channels on both sides, not pooled, images that fill the tiles of 4 x 4 outputs at least by half. By shape
/// only, never by timing: it decides the bits of the result.
bool suits_winograd(const OpRequest& request);

/// A convolution of 3 x 3, stride 1 and padding up to 2, not pooled, as F(4 x 4, 3 x 3): any channels, any
/// size. Null biases are zeros and have no gradient. Rounding errors are about five times
/// those of other plans of convolutions.
Op plan_winograd(const OpRequest& request);

}  // namespace lockstep::cpu
