#pragma once

#include <filesystem>

#include "checkpoint/checkpoint.h"

namespace lockstep {

/// Prints what a checkpoint says of its run.
void print_state(const CheckpointState& state);

/// Checks the files of the checkpoint that `path` names, or of all those of a run directory, and prints a
/// line for each. Throws Error(data) if one is damaged.
void verify_checkpoints(const std::filesystem::path& path);

}  // namespace lockstep
