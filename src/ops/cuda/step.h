#pragma once

#include <cstdint>

#include "core/step_state.h"
#include "device/cuda/launch.h"
#include "ops/plan.h"

/// Begin and end of a step on a GPU.
namespace lockstep::cuda {

/// Writes the step's outcome from the results of all leaves of all ranks: sums in the order of leaves,
/// scales, and whether the parameters change: if there were samples, the loss is finite, and no step was
/// stopped. `stopped`: set by a step whose loss is not finite, read by all later ones, so that those which
/// were enqueued before the host looked change nothing. Then the log goes to its next step: positions[0],
/// where it is, becomes positions[1], and one more than before.
void conclude_leaves(StreamHandle stream, const LeafResult* results, std::uint32_t leaves, const StepLog& log,
                     std::uint32_t* positions, std::uint32_t* stopped);

}  // namespace lockstep::cuda
