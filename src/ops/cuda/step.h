#pragma once

#include <cstdint>

#include "core/step_state.h"
#include "device/cuda/launch.h"
#include "ops/plan.h"

/// Begin and end of a step on a GPU.
namespace lockstep::cuda {

/// Writes the step's outcome from the results of all leaves of all ranks: sums in the order of leaves,
/// scales, and whether the parameters change, that is, if there were samples, the loss is finite, and no step
/// has set `stopped`. A step whose loss is not finite sets `stopped`, which all later steps read, so that
/// steps enqueued before the host looked change nothing. Then the log advances to its next step:
/// positions[0], its place, becomes positions[1], which becomes one more.
void conclude_leaves(StreamHandle stream, const LeafResult* results, std::uint32_t leaves, const StepLog& log,
                     std::uint32_t* positions, std::uint32_t* stopped);

}  // namespace lockstep::cuda
