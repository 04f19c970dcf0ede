#pragma once

#include <cstdint>
#include <memory>

#include "optim/arena_update.h"

namespace lockstep::cuda {

/// Makes an update on a CUDA device. `stopped`: flag of conclude_leaves (ops/cuda/step.h) in its memory,
/// which a norm that is not finite also sets.
std::unique_ptr<ArenaUpdate> make_arena_update(const ArenaUpdateOptions& options, std::uint32_t* stopped);

}  // namespace lockstep::cuda
