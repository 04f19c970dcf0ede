#pragma once

#include <filesystem>
#include <vector>

namespace lockstep {

/// Checkpoints that a user means by `path`: a checkpoint itself; else those of a run directory, or of its
/// folder checkpoints/, the latest first. Throws Error(data) if there are none.
std::vector<std::filesystem::path> find_checkpoints(const std::filesystem::path& path);

}  // namespace lockstep
