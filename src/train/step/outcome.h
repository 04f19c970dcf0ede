#pragma once

#include <span>

#include "core/step_state.h"
#include "lockstep/dataset.h"
#include "lockstep/reports.h"
#include "ops/plan.h"

namespace lockstep {

/// Outcome of a step, from the results of its leaves in their order. A step without samples, or whose loss is
/// not finite, updates nothing.
StepOutcome outcome_of(std::span<const LeafResult> results);

/// Whether the loss and, where it was requested, the norm of the gradient are finite.
bool is_finite(const StepOutcome& outcome);

/// Evaluation with means over the samples of `dataset` that were computed, in the unit of its targets;
/// without any: 0.
Evaluation evaluation_of(const LossSums& sums, const Dataset& dataset);

}  // namespace lockstep
