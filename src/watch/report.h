#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "watch/job_memory.h"
#include "watch/verdict.h"

namespace lockstep {

/// A failure, and everything known about the ranks at that moment.
struct FailureReport {
  const Verdict& verdict;
  const RankTable& table;
  const HangLimits& limits;
  const JobMemory& memory;        ///< memory of the ranks of this host
  const std::vector<int>& slots;  ///< places in `memory` of the ranks of this host; -1: none
  std::size_t first;              ///< first rank of this host
};

/// Beginning of the file names of reports; the PID follows.
inline constexpr const char* watchdog_report_prefix = "watchdog-";

/// Writes watchdog-PID.json to `folder`, or to the folder for temporary files if `folder` is empty or cannot
/// be written to: JSON with a sentence, limits, and for each rank its host, process, place, collective, times
/// in seconds, and last activities, oldest first. Prints the path. Never throws.
void write_report(const FailureReport& report, const std::filesystem::path& folder);

}  // namespace lockstep
