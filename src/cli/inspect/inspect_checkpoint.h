#pragma once

#include <filesystem>

#include "checkpoint/checkpoint.h"

namespace lockstep {

/// Reads the checkpoint that `path` names; of a run directory, the newest one that passes its checks, with a
/// warning for each later one. Throws Error(data) if there is none.
Checkpoint open_checkpoint(const std::filesystem::path& path);

/// Prints what a checkpoint says of its run.
void print_state(const CheckpointState& state);

/// Checks the files of the checkpoint that `path` names, or of all those of a run directory, and prints a
/// line for each. Throws Error(data) if one is damaged.
void verify_checkpoints(const std::filesystem::path& path);

}  // namespace lockstep
