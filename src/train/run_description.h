#pragma once

#include "lockstep/model_description.h"
#include "lockstep/reports.h"
#include "train/run.h"

namespace lockstep {

/// Description of the models of a run, as far as its network, data and input options determine it. A network
/// that a network file cannot contain is left out.
ModelDescription description_of(const Run& run);

/// Results of an evaluated epoch, for ModelDescription::results.
Facts results_of(const EpochReport& report);

}  // namespace lockstep
