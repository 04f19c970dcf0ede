#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "gradient/partial_sum_plan.h"
#include "gradient/summation.h"

namespace lockstep {

/// Merges the partial sums of a rank's executors as far as the tree allows. Each group of siblings is merged
/// into the arena of its first partial sum. The merge costs one pass over memory and leaves less to exchange.
class LocalMerge {
 public:
  /// Merge without partial sums.
  LocalMerge() = default;
  LocalMerge(const std::vector<Partial>& partials, std::size_t elements);

  /// Merged partial sums: the cover of the rank's leaves.
  const std::vector<Partial>& results() const { return results_; }

  /// Records merging the elements from `begin` up to those that earlier calls in this step merged. `begin`
  /// descends within a step and is 0 in the last call.
  void record(Stream& stream, Summation& summation, std::size_t begin);

 private:
  struct Group {
    Fold fold;
    float* into;
  };
  std::size_t elements_ = 0;
  std::size_t end_ = 0;  ///< end of the elements not yet merged in this step
  std::vector<float*> partials_;
  std::map<std::size_t, std::vector<const float*>> inputs_;  ///< by element: addresses in all partial sums
  std::vector<Partial> results_;
  std::vector<Group> groups_;
};

}  // namespace lockstep
