#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/checkpoint/checkpoint.h"

namespace lockstep {

/// Checkpoints that a user means by `path`: a checkpoint itself; else those of a run directory, or of its
/// folder checkpoints/, the latest first. Throws Error(data) if there are none.
std::vector<std::filesystem::path> find_checkpoints(const std::filesystem::path& path);

/// Reads the checkpoint that `path` names; of a run directory, the newest one that is not damaged. If
/// `warns`, prints a warning for each later one. Throws Error(data) if there is none, Error(resource) for one
/// that cannot be read now.
Checkpoint open_checkpoint(const std::filesystem::path& path, bool warns = true);

/// Shortest form of a path: "runs/x" for "runs/x/" and "./runs/x".
std::filesystem::path short_form(const std::filesystem::path& path);

/// Run directory RUN of a checkpoint RUN/checkpoints/NAME; empty: it is elsewhere.
std::filesystem::path run_of(const std::filesystem::path& checkpoint);

/// Run directory or checkpoint that a user means by `path`, in short form: RUN, too, for its folder
/// RUN/checkpoints.
std::filesystem::path run_or_checkpoint(const std::filesystem::path& path);

/// Best and final model of a run, if they exist; none if `path` is a checkpoint.
std::vector<std::string> find_models(const std::filesystem::path& path);

/// Run directory that a user means by `path`, or to whose checkpoints it belongs; empty: a checkpoint that is
/// elsewhere. It may be missing.
std::filesystem::path find_run(const std::filesystem::path& path);

/// File with the options of the run of find_run; empty: there is none. Throws Error(resource) if this user
/// may not read it.
std::filesystem::path find_options(const std::filesystem::path& path);

}  // namespace lockstep
