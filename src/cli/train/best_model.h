#pragma once

#include "cli/train/run_place.h"
#include "lockstep/dataset.h"
#include "lockstep/network.h"
#include "lockstep/trainer.h"

namespace lockstep {

/// Makes best.safetensors of a run that continues from a checkpoint, or has returned to one, the model of the
/// best epoch up to there, on rank 0: the file may be of a later epoch, which the run has not reached now, or
/// not exist yet. Prints a warning if there is no such model, or if it cannot be written; throws nothing
/// else.
void restore_best_model(const RunPlace& place, const Trainer& trainer, const Network& network,
                        const DatasetPair& data);

}  // namespace lockstep
