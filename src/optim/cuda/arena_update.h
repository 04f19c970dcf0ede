#pragma once

#include <cstdint>
#include <memory>

#include "optim/arena_update.h"

namespace lockstep::cuda {

/// Makes an update on a CUDA device. `stopped`: flag of conclude_leaves (ops/cuda/step.h) in device memory; a
/// norm that is not finite sets it, too.
std::unique_ptr<ArenaUpdate> make_arena_update(const ArenaUpdateOptions& options, std::uint32_t* stopped);

}  // namespace lockstep::cuda
