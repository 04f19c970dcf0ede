#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/checkpoint/checkpoint.h"

namespace lockstep {

/// Checkpoints that a user means by `path`: the checkpoint `path`, else the checkpoints of a run directory or
/// of its folder checkpoints/, latest first. Throws Error(data) if there are none.
std::vector<std::filesystem::path> find_checkpoints(const std::filesystem::path& path);

/// Reads the checkpoint `path` or, for a run directory, the newest checkpoint that is not damaged. If
/// `warns`, prints a warning for each later one. Throws Error(data) if there is none, Error(resource) if one
/// cannot be read now.
Checkpoint open_checkpoint(const std::filesystem::path& path, bool warns = true);

/// Shortest form of a path: "runs/x" for "runs/x/" and "./runs/x".
std::filesystem::path short_form(const std::filesystem::path& path);

/// Run directory RUN of a checkpoint RUN/checkpoints/NAME; empty: the checkpoint is elsewhere.
std::filesystem::path run_of(const std::filesystem::path& checkpoint);

/// Run directory or checkpoint that a user means by `path`, in short form; RUN/checkpoints means RUN.
std::filesystem::path run_or_checkpoint(const std::filesystem::path& path);

/// Best and final model of a run, if they exist; none if `path` is a checkpoint.
std::vector<std::string> find_models(const std::filesystem::path& path);

/// Run directory that a user means by `path`, or that has the checkpoint `path`; empty: the checkpoint is
/// elsewhere. The directory may be missing.
std::filesystem::path find_run(const std::filesystem::path& path);

/// File with the options of the run find_run(path); empty: there is none. Throws Error(resource) if this user
/// may not read it.
std::filesystem::path find_options(const std::filesystem::path& path);

}  // namespace lockstep
