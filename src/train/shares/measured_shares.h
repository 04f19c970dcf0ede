#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "train/session/session.h"
#include "train/shares/share_planner.h"

namespace lockstep {

/// Whether the executors of this host's ranks share cores, assuming that each rank has as many executors as
/// this one. If they do, measured speeds reflect scheduling, not hardware.
bool share_cores(const Session& session);

/// Assignment of the leaves of a run's steps: equal shares or, on CPU ranks, shares computed from speeds
/// measured during the run (SharePlanner). Does not affect the result.
class MeasuredShares {
 public:
  /// `leaves`: leaves of a full step; `executors`: executors of this rank; `elements`: elements of a gradient
  /// arena. Collective.
  MeasuredShares(const Session& session, std::uint32_t leaves, std::size_t executors, std::size_t elements);

  Assignment assign(std::uint32_t leaves) const;

  /// Adds the times of a full step, in seconds: total time, processor time of this process, and time in which
  /// each executor computed leaves. Returns whether shares changed, the same on all ranks. Collective, as
  /// ranks exchange measurements from time to time.
  bool add(double seconds, double processor_seconds, std::span<const double> computing);

 private:
  bool gather(double steps);

  const Session& session_;
  std::size_t executors_;
  ShareRule rule_;
  std::optional<SharePlanner> planner_;  ///< none: shares never change
  std::size_t arenas_bytes_ = 0;         ///< memory that other shares may need on this rank
  std::uint64_t steps_ = 0;              ///< steps since the last decision
  std::vector<double> own_;              ///< sums over the steps on this rank, see per_rank
  std::vector<double> all_;              ///< sums of all ranks
  std::vector<std::size_t> bytes_;       ///< bytes of each rank in all_
  StepMeasurement measurement_;          ///< averages of all_
};

}  // namespace lockstep
