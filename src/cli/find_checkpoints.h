#pragma once

#include <filesystem>
#include <vector>

namespace lockstep {

/// Checkpoints that a user means by `path`: a checkpoint itself; else those of a run directory, or of its
/// folder checkpoints/, the latest first. Throws Error(data) if there are none.
std::vector<std::filesystem::path> find_checkpoints(const std::filesystem::path& path);

/// "runs/x" for "runs/x/".
std::filesystem::path without_slash(const std::filesystem::path& path);

/// File with the options of the run that `path`, a run directory or one of its checkpoints, belongs to;
/// empty: there is none.
std::filesystem::path find_options(const std::filesystem::path& path);

}  // namespace lockstep
