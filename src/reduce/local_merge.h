#pragma once

#include <vector>

#include "reduce/partial_sum_plan.h"
#include "reduce/summation.h"

namespace lockstep {

/// Adds up the partial sums that a rank's executors left, as far as the tree allows: into the arenas of the
/// first of each group of siblings. One pass over memory, less to exchange.
class LocalMerge {
 public:
  /// Of nothing.
  LocalMerge() = default;
  LocalMerge(const std::vector<Partial>& partials, std::size_t elements);

  /// The partial sums that are left: the cover of the rank's leaves.
  const std::vector<Partial>& results() const { return results_; }

  void record(Stream& stream, Summation& summation) const;

 private:
  struct Group {
    Fold fold;
    float* into;
  };
  std::size_t elements_ = 0;
  std::vector<const float*> inputs_;
  std::vector<Partial> results_;
  std::vector<Group> groups_;
};

}  // namespace lockstep
