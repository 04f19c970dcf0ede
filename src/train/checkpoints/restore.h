#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/options/check.h"
#include "run/checkpoint/checkpoint_state.h"
#include "train/run.h"
#include "train/session/session.h"
#include "train/training_state.h"

namespace lockstep {

/// Facts that every checkpoint of a run holds: options that affect the result; `identity`, the fingerprints
/// of network and data; the kind of processor and the versions of libraries, on which the bits may depend.
CheckpointState facts_of(const Session& session, const Run& run, const std::vector<Line>& identity);

/// Loads a checkpoint into `state`: rank 0 reads it and sends it to the other ranks. `facts`: facts of this
/// run. Returns, on rank 0, sentences about differences from the run that wrote the checkpoint. Collective.
/// Throws on all ranks the errors of Trainer::resume.
std::vector<std::string> restore(const Session& session, const Run& run, const std::filesystem::path& folder,
                                 const CheckpointState& facts, bool force, TrainingState& state);

}  // namespace lockstep
