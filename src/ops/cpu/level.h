#pragma once

#include "ops/cpu/kernels/kernels.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

/// The functions of an instruction set. Throws Error(internal) for one that was not built.
const Kernels& kernels_of(Level level);

}  // namespace lockstep::cpu
