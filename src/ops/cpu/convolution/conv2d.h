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

}  // namespace lockstep::cpu
