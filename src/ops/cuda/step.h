#pragma once

#include <cstdint>

#include "core/step_state.h"
#include "device/cuda/launch.h"
#include "ops/plan.h"

/// End of a step on a GPU.
namespace lockstep::cuda {

/// Writes the step's outcome from the results of all leaves of all ranks: sums in the order of leaves,
/// scales, and whether parameters are updated, namely if there were samples and no loss of the log so far was
/// infinite or NaN. `stopped`: set by a step whose loss is not finite; stops all later steps of the log,
/// which may have been enqueued before the host reads the outcome, unless `stops` is false: then it stops its
/// own update only. Then advances the log: copies positions[0] to positions[1] and increments positions[0].
void conclude_leaves(StreamHandle stream, const LeafResult* results, std::uint32_t leaves, const StepLog& log,
                     std::uint32_t* positions, std::uint32_t* stopped, bool stops = true);

}  // namespace lockstep::cuda
