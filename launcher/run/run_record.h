#pragma once

#include <cstdint>
#include <filesystem>

namespace lockstep::launcher {

/// Step of the newest checkpoint of a run directory, by its name (src/checkpoint/checkpoint_name.h); 0: none.
std::uint64_t newest_checkpoint(const std::filesystem::path& run_directory);

/// Last step in metrics.jsonl of a run directory; 0: none. Steps of the last second may be missing there.
std::uint64_t last_recorded_step(const std::filesystem::path& run_directory);

}  // namespace lockstep::launcher
