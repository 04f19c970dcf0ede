#pragma once

#include <cstdint>

#include "core/step_state.h"
#include "device/cuda/stream_handle.h"
#include "ops/plan.h"

/// End of a step on a GPU.
namespace lockstep::cuda {

/// Writes the step's outcome, computed from the results of all leaves of all ranks: sums in the order of
/// leaves, scales, and whether parameters are updated (only if there were samples and `stopped` is not set).
/// A step whose loss is not finite sets `stopped`, which prevents its update and the updates of all later
/// steps of the log, because these may be enqueued before the host reads the outcome. If `stops` is false,
/// only the step's own update is prevented. Finally advances the log: copies positions[0] to positions[1] and
/// increments positions[0].
void conclude_leaves(StreamHandle stream, const LeafResult* results, std::uint32_t leaves, const StepLog& log,
                     std::uint32_t* positions, std::uint32_t* stopped, bool stops = true);

}  // namespace lockstep::cuda
