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

/// Facts that all checkpoints of a run hold: options that affect the result; `identity`, the fingerprints of
/// network and data; kind of processor and versions, on which the bits may depend.
CheckpointState facts_of(const Session& session, const Run& run, const std::vector<Line>& identity);

/// Sets `state` to that of a checkpoint, which rank 0 reads and sends to the others. `facts`: those of this
/// run. Returns, on rank 0, sentences about differences of the fingerprint. Collective. Throws on all ranks
/// the errors of Trainer::resume.
std::vector<std::string> restore(const Session& session, const Run& run, const std::filesystem::path& folder,
                                 const CheckpointState& facts, bool force, TrainingState& state);

}  // namespace lockstep
