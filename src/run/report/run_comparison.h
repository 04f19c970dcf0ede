#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "run/run_record.h"

namespace lockstep {

/// A fact that differs between runs A and B.
struct Difference {
  std::string name;             ///< "loss", or the name of an option
  std::string place;            ///< "step 17"; empty for options and the environment
  std::string a;                ///< value in run A; "none" if its record lacks the fact
  std::string b;                ///< value in run B
  bool decides_result = false;  ///< whether equal runs have equal values; set for results only
};
LOCKSTEP_MEMBERS(Difference, name, place, a, b, decides_result)

/// Differences between the records of two runs.
struct RunComparison {
  std::size_t common_steps = 0;  ///< steps that both records have
  std::size_t common_epochs = 0;
  std::size_t common_digests = 0;  ///< digests of steps, epochs and ends
  /// The first difference of each kind of result: each number that both records have for a step or an epoch,
  /// except times; the digests of steps and epochs; the digest at the end.
  std::vector<Difference> results;
  std::vector<Difference> options;
  std::vector<Difference> environment;

  /// Whether there was anything to compare.
  bool has_common() const { return common_steps + common_epochs + common_digests > 0; }
};
LOCKSTEP_MEMBERS(RunComparison, common_steps, common_epochs, common_digests, results, options, environment)

/// Compares what both records contain; one run may be longer, or may have recorded other steps
/// (--log-interval). An epoch that --max-steps cut is compared only if both runs ended at the same step of
/// it, and the digests at the end only if both runs ended at the same step. Ignores what differs between any
/// two runs: time, command line and run directory.
RunComparison compare_runs(const RunRecord& first, const RunRecord& second);

}  // namespace lockstep
