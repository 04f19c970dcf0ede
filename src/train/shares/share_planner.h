#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reduce/assignment.h"

namespace lockstep {

/// Measurements of some steps in a row, each the average over them, the same on all ranks.
struct StepMeasurement {
  double seconds = 0.0;                ///< of a step
  std::vector<double> computing = {};  ///< seconds per step that each executor computed its leaves
  double stolen = 0.0;  ///< share of `computing` in which other programs had the executors' cores
};

/// The shares with which the slowest executor ends first. `speeds`: leaves per second of each executor.
/// Every rank keeps its number of leaves where `ranks_keep` says so. Where executors are as fast, as equal as
/// possible; an executor that had leaves keeps one.
Shares fastest_shares(const Shares& shares, std::span<const double> speeds, bool ranks_keep);

/// Decides which share of the leaves each executor computes, from measured times: a busy machine slows down
/// one executor more than another. Measured speeds do not say everything: an operating system gives a thread
/// its fair share of a core, so that an executor with few leaves seems as fast as others; and it moves
/// another program to the core with the least work, so that with equal shares all executors seem equally
/// slow. Therefore other shares are tried, and kept only if steps became faster. What fails is tried again,
/// but more and more rarely. Ranks that are told the same decide alike.
class SharePlanner {
 public:
  /// Begins with `equal` shares. `ranks_keep`: only executors of the same rank take leaves from each other.
  explicit SharePlanner(Shares equal, bool ranks_keep = false);

  const Shares& shares() const { return shares_; }
  bool are_equal() const { return shares_ == equal_; }
  /// What steps with these shares took. Returns whether shares() changed.
  bool measured(const StepMeasurement& measurement);
  /// For tests: changes the shares as if executors had taken turns at being slow. Returns whether they
  /// changed.
  bool change();

 private:
  struct Trial {
    Shares before;
    double seconds;  ///< of a step with them
  };

  Shares candidate(double stolen) const;
  bool judge(const StepMeasurement& measurement);
  void learn_speeds(const StepMeasurement& measurement);

  Shares equal_, shares_;
  bool ranks_keep_;
  std::vector<double> speeds_;  ///< of executors; 0 without leaves
  std::optional<Trial> trial_;
  unsigned pause_ = 0;     ///< measurements until the next trial may begin
  unsigned failures_ = 0;  ///< trials without gain since the last gain
  unsigned changes_ = 0;   ///< for tests
};

}  // namespace lockstep
