#pragma once

#include "ops/cpu/op.h"

/// Implementations of Conv2d.
namespace lockstep::cpu {

/// Supports any kernel, stride, padding, dilation, groups, bias and ReLU, but not pooling.
Op plan_blocked_conv2d(const OpRequest& request);
/// Like plan_blocked_conv2d, but requires as many groups as input and output channels.
Op plan_depthwise_conv2d(const OpRequest& request);

/// Whether a convolution uses Winograd's algorithm: 3 x 3, stride 1, padding up to 2, no dilation, groups or
/// pooling, at least 16 input and output channels, and images that fill at least half of the 4 x 4 output
/// tiles. Depends on shapes and options only, since the choice determines the bits of the result.
bool suits_winograd(const OpRequest& request);

/// Supports 3 x 3 convolutions of stride 1 and padding up to 2 without pooling, computed as F(4 x 4, 3 x 3),
/// with any number of channels and any image size. Rounding errors are about five times those of the other
/// implementations.
Op plan_winograd(const OpRequest& request);

/// Whether a convolution that does not suit Winograd's algorithm is computed as products of bf16: activations
/// in bf16, at least 16 products per sum and 16 output channels; no groups, pooling or ReLU. Depends on the
/// shape, the data type and fused operations only, since the choice determines the bits of the result.
bool suits_bf16_product(const OpRequest& request);

/// Supports convolutions for which suits_bf16_product() is true.
Op plan_bf16_product_conv2d(const OpRequest& request);

/// Minimum number of pieces of at most `max` each that `value` can be divided into.
constexpr int pieces(int value, int max) { return (value + max - 1) / max; }
constexpr int rounded_up(int value, int unit) { return pieces(value, unit) * unit; }

/// Bits that ReLU saves; null if the layer has no ReLU.
template <class Layer, class Element>
std::uint16_t* masks_of(const Layer& layer, const NodeMemory<Element>& memory) {
  return layer.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) : nullptr;
}

}  // namespace lockstep::cpu
