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

/// Bytes of the bits that ReLU saves, [group][pixel]. 0: no ReLU.
constexpr std::size_t mask_bytes(bool relu, std::size_t pixels, int samples) {
  return relu ? pixels * static_cast<std::size_t>(groups_of(samples)) * sizeof(std::uint16_t) : 0;
}
/// Bits that ReLU saves; null: no ReLU.
template <class Layer>
std::uint16_t* masks_of(const Layer& layer, const OpMemory& memory) {
  return layer.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) : nullptr;
}

}  // namespace lockstep::cpu
