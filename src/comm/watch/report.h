#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/watch/job_memory.h"
#include "comm/watch/verdict.h"

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

/// JSON with a sentence, limits, and for each rank its host, process, place, collective, times in seconds,
/// and its last activities, oldest first.
std::string report_text(const FailureReport& report);

/// Writes the text as watchdog-PROCESS.json to `folder`, or where that is empty or cannot be written to the
/// current folder or to that for temporary files. Prints where. Never throws.
void write_report(const FailureReport& report, const std::filesystem::path& folder);

}  // namespace lockstep
