#pragma once

#include "lockstep/network.h"
#include "ops/pool_axis.h"

namespace lockstep {

/// Both directions of a pooling layer.
struct PoolWindows {
  PoolAxis rows;
  PoolAxis columns;
};

/// Of a MaxPool2d, AvgPool2d or AdaptiveAvgPool2d.
PoolWindows pool_windows(const Operation& pool, Shape input, Shape output);

}  // namespace lockstep
