#pragma once

#include "core/host_device.h"

namespace lockstep {

/// torch.nn.utils.clip_grad_norm_: what a gradient is multiplied by so that its norm is at most `largest`; at
/// most 1.
LOCKSTEP_HD inline double clip_coefficient(double largest, double norm) {
  const double coefficient = largest / (norm + 1e-6);
  return coefficient < 1.0 ? coefficient : 1.0;
}

}  // namespace lockstep
