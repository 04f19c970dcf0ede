#pragma once

#include <span>

#include "core/step_state.h"
#include "lockstep/dataset.h"
#include "lockstep/reports.h"
#include "ops/plan.h"

namespace lockstep {

/// Outcome of a step, computed from the results of its leaves in order. A step without samples or with a loss
/// that is not finite updates nothing.
StepOutcome outcome_of(std::span<const LeafResult> results);

/// Whether the loss and, if it was requested, the norm of the gradient are finite.
bool is_finite(const StepOutcome& outcome);

/// Evaluation with means over the samples of `dataset` that were computed, in the unit of its targets; the
/// means are 0 if there are no such samples.
Evaluation evaluation_of(const LossSums& sums, const Dataset& dataset);

}  // namespace lockstep
