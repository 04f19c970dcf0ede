#pragma once

#include <span>

#include "core/step_state.h"
#include "lockstep/reports.h"
#include "ops/plan.h"

namespace lockstep {

/// What a step finds, from the results of its leaves in their order. One without samples, or whose loss is
/// not finite, updates nothing.
StepOutcome outcome_of(std::span<const LeafResult> results);

/// As means over the samples that were really computed; of none: 0.
Evaluation evaluation_of(const StepOutcome& outcome);

}  // namespace lockstep
