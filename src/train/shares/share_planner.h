#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gradient/assignment.h"

namespace lockstep {

/// Averages over some consecutive steps, the same on all ranks.
struct StepMeasurement {
  double seconds = 0.0;                ///< time of a step
  std::vector<double> computing = {};  ///< seconds per step in which each executor computed leaves
  double stolen = 0.0;  ///< share of `computing` in which other programs had the executors' cores
};

/// Shares that minimise the time of the slowest executor; among equally fast executors, as equal as possible.
/// `speeds`: leaves per second of each executor. `ranks_keep`: whether every rank keeps its number of leaves.
/// An executor that had leaves keeps at least one.
Shares fastest_shares(const Shares& shares, std::span<const double> speeds, bool ranks_keep);

/// Decides, from measured times, which share of the leaves each executor computes, because a busy machine
/// slows down one executor more than another. Measured speeds are not sufficient: an operating system gives a
/// thread its fair share of a core, so that an executor with few leaves seems as fast as others; and it moves
/// other programs to the core with the least work, so that with equal shares all executors seem equally slow.
/// Therefore other shares are tried, and kept only if steps became faster. Failed trials are repeated at
/// growing intervals. Ranks with the same measurements make the same decisions.
class SharePlanner {
 public:
  /// Begins with `equal` shares. `ranks_keep`: whether leaves move only between executors of the same rank.
  explicit SharePlanner(Shares equal, bool ranks_keep = false);

  const Shares& shares() const { return shares_; }
  bool are_equal() const { return shares_ == equal_; }
  /// Uses a measurement of steps that were made with shares(). Returns whether shares() changed.
  bool measured(const StepMeasurement& measurement);
  /// For tests: changes the shares as if executors had taken turns at being slow. Returns whether they
  /// changed.
  bool change();

 private:
  struct Trial {
    Shares before;
    double seconds;  ///< time of a step with these shares
  };

  Shares candidate(double stolen) const;
  bool judge(const StepMeasurement& measurement);
  void learn_speeds(const StepMeasurement& measurement);

  Shares equal_, shares_;
  bool ranks_keep_;
  std::vector<double> speeds_;  ///< leaves per second of each executor; 0 without leaves
  std::optional<Trial> trial_;
  unsigned pause_ = 0;     ///< measurements until the next trial may begin
  unsigned failures_ = 0;  ///< failed trials since the last successful one
  unsigned changes_ = 0;   ///< for tests
};

}  // namespace lockstep
