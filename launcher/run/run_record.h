#pragma once

#include <cstdint>
#include <filesystem>

namespace lockstep::launcher {

/// Step of the newest checkpoint of a run directory, by its name (src/checkpoint/checkpoint_name.h); 0: none.
std::uint64_t newest_checkpoint(const std::filesystem::path& run_directory);

/// The newest steps of a run.
struct RecordedSteps {
  std::uint64_t last = 0;  ///< 0: none
  double seconds = 0;  ///< time of those after a given step, as far as they are near the end of the record
};

/// Steps in metrics.jsonl of a run directory, with the time of those after `from`. Steps of the last second
/// may be missing there.
RecordedSteps recorded_steps(const std::filesystem::path& run_directory, std::uint64_t from);

}  // namespace lockstep::launcher
