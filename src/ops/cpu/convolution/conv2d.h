#pragma once

#include "ops/cpu/op.h"

/// Implementations of Conv2d.
namespace lockstep::cpu {

/// Supports any kernel, stride, padding, dilation, groups, bias and ReLU, but no pooling.
Op plan_blocked_conv2d(const OpRequest& request);
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

/// Whether a convolution is computed as products of bf16: activations in bf16, at least 16 products of each
/// sum and 16 output channels; neither groups, pooling nor ReLU. Asked after suits_winograd. Depends on the
/// shape, the data type and fused operations only, since the choice determines the bits of the result.
bool suits_bf16_product(const OpRequest& request);

/// Supports the convolutions that suit it, with activations in bf16.
Op plan_bf16_product_conv2d(const OpRequest& request);

/// Smallest number of pieces of `value` of at most `max` each.
constexpr int pieces(int value, int max) { return (value + max - 1) / max; }
constexpr int rounded_up(int value, int unit) { return pieces(value, unit) * unit; }

/// Bits that ReLU saves; null: no ReLU.
template <class Layer, class Element>
std::uint16_t* masks_of(const Layer& layer, const NodeMemory<Element>& memory) {
  return layer.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) : nullptr;
}

}  // namespace lockstep::cpu
