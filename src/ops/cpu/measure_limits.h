#pragma once

#include "device/device.h"
#include "ops/cpu/level.h"
#include "ops/thread_limits.h"

namespace lockstep::cpu {

/// Measures the limits of an executor, in about a second. Throws Error(resource) if memory is insufficient.
ThreadLimits measure_limits(Level level, Device& device);

}  // namespace lockstep::cpu
