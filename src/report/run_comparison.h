#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/run_record.h"

namespace lockstep {

/// A fact that differs between two runs.
struct Difference {
  std::string name;    ///< "loss", or the name of an option
  std::string place;   ///< "step 17"; empty for options
  std::string first;   ///< value in the first run; "none" where its record has none
  std::string second;  ///< value in the second run
};

/// Differences between the records of two runs.
struct RunComparison {
  std::size_t steps = 0;    ///< steps that both records have
  std::size_t epochs = 0;   ///< epochs that both records have
  std::size_t digests = 0;  ///< digests that both records have, of steps, epochs and ends
  /// The first difference in each kind of result: loss, learning rate and samples of a step, its digest,
  /// losses and accuracies of an epoch, its digest, and the digest at the end.
  std::vector<Difference> results;
  std::vector<Difference> options;
  std::vector<Difference> environment;

  /// Whether there was anything to compare.
  bool has_common() const { return steps + epochs + digests > 0; }
};

/// Compares what both records have; one may be of a longer run, or have other steps (--log-interval). The
/// digests at the end are compared if both runs were to end at the same step. Leaves out what differs between
/// any two runs: time, command line and run directory.
RunComparison compare_runs(const RunRecord& first, const RunRecord& second);

}  // namespace lockstep
