#pragma once

#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Whether a convolution is computed by Winograd's algorithm: 3 x 3, stride 1, padding up to 2, at least 16
/// channels on both sides, not pooled, images that fill the tiles of 4 x 4 outputs at least by half. By shape
/// only, never by timing: it decides the bits of the result.
bool suits_winograd(const OpRequest& request);

/// A convolution of 3 x 3, stride 1 and padding up to 2, not pooled, as F(4 x 4, 3 x 3): any channels, any
/// size. Null biases are zeros and have no gradient. Rounding errors are about five times
/// those of other plans of convolutions.
Op plan_winograd(const OpRequest& request);

}  // namespace lockstep::cpu
