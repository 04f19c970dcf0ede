#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "gradient/partial_sum_plan.h"
#include "gradient/summation.h"

namespace lockstep {

/// Merges the partial sums of a rank's executors as far as the tree allows, into the arena of the first of
/// each group of siblings. This costs one pass over memory and leaves less to exchange.
class LocalMerge {
 public:
  /// Merge without partial sums.
  LocalMerge() = default;
  LocalMerge(const std::vector<Partial>& partials, std::size_t elements);

  /// Merged partial sums: the cover of the rank's leaves.
  const std::vector<Partial>& results() const { return results_; }

  /// Records merging the elements from `begin` to those that the last call in this step merged. `begin`
  /// descends within a step and is 0 in its last call.
  void record(Stream& stream, Summation& summation, std::size_t begin);

 private:
  struct Group {
    Fold fold;
    float* into;
  };
  std::size_t elements_ = 0;
  std::size_t end_ = 0;  ///< of the elements that are not merged in this step
  std::vector<float*> partials_;
  std::map<std::size_t, std::vector<const float*>> inputs_;  ///< addresses of an element of all partial sums
  std::vector<Partial> results_;
  std::vector<Group> groups_;
};

}  // namespace lockstep
