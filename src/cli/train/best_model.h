#pragma once

#include "cli/train/run_place.h"
#include "lockstep/dataset.h"
#include "lockstep/network.h"
#include "lockstep/trainer.h"

namespace lockstep {

/// Ensures on rank 0 that best.safetensors is the model of the best epoch so far, for a run that continues
/// from a checkpoint or has rolled back to one: the file may belong to a later epoch, which the run has not
/// reached now, or not exist yet. Prints a warning if there is no such model, or if it cannot be written;
/// throws nothing else.
void restore_best_model(const RunPlace& place, const Trainer& trainer, const Network& network,
                        const DatasetPair& data);

}  // namespace lockstep
