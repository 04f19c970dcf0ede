#pragma once

#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// Whether a convolution is computed by Winograd's algorithm: 3 x 3, stride 1, padding up to 2, at least 16
/// channels on both sides, not pooled. By shape only, never by timing: it decides the bits of the result.
bool suits_winograd(const OpRequest& request);

/// Such a convolution, as F(4 x 4, 3 x 3); rounding errors are about five times those of plan_conv2d().
Op plan_winograd(const OpRequest& request);

}  // namespace lockstep::cpu
