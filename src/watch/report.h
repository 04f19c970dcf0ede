#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "watch/job_memory.h"
#include "watch/verdict.h"

namespace lockstep {

/// A failure, and all that is known of the ranks at that moment.
struct FailureReport {
  const Verdict& verdict;
  const RankTable& table;
  const HangLimits& limits;
  const JobMemory& memory;        ///< of the ranks of this host
  const std::vector<int>& slots;  ///< their places in it; -1: none
  std::size_t first;              ///< first rank of this host
};

/// Names of reports begin with it, followed by the number of the process.
inline constexpr const char* watchdog_report_prefix = "watchdog-";

/// Writes watchdog-PROCESS.json to `folder`, or if that is empty or cannot be written to, to the folder for
/// temporary files: JSON with a sentence, limits, and for each rank its host, process, place, collective,
/// times in seconds, and its last activities, oldest first. Prints the path. Never throws.
void write_report(const FailureReport& report, const std::filesystem::path& folder);

}  // namespace lockstep
