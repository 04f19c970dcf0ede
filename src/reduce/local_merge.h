#pragma once

#include <vector>

#include "reduce/reducer.h"

namespace lockstep {

/// Adds up the partial sums that a rank's executors left, as far as the tree allows: into the arenas of the
/// first of each group of siblings. One pass over memory, less to exchange.
class LocalMerge {
 public:
  LocalMerge(const std::vector<Partial>& partials, std::size_t elements, const Summation& summation);

  /// The partial sums that are left: the cover of the rank's leaves.
  const std::vector<Partial>& results() const { return results_; }

  void run();

 private:
  struct Group {
    std::unique_ptr<Folder> fold;
    float* into;
  };
  std::size_t elements_;
  std::vector<const float*> inputs_;
  std::vector<Partial> results_;
  std::vector<Group> groups_;
};

}  // namespace lockstep
