#pragma once

#include <memory>

#include "optim/arena_update.h"

namespace lockstep::cuda {

/// ArenaUpdate on a GPU; what it does is given to `stream`. `stopped`: in the device's memory, see
/// conclude_leaves (ops/cuda/step.h). All references outlive it.
std::unique_ptr<ArenaUpdate> make_cuda_arena_update(const ArenaUpdateOptions& options, const Stream& stream,
                                                    std::uint32_t* stopped);

}  // namespace lockstep::cuda
