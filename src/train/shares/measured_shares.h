#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "train/session/session.h"
#include "train/shares/share_planner.h"

namespace lockstep {

/// Who computes which leaves of a run's steps: equal shares, and on CPU ranks what follows from the speeds
/// that are measured while the run goes on (SharePlanner). Does not affect the result.
class MeasuredShares {
 public:
  /// `leaves`: of a full step. `elements`: of an arena of gradients. Collective.
  MeasuredShares(const Session& session, std::uint32_t leaves, std::size_t elements);

  Assignment assign(std::uint32_t leaves) const;

  /// After each full step: its seconds, those that this process had a core, and those that its executors
  /// computed leaves. Collective, as ranks now and then tell each other; returns on all of them whether
  /// shares changed.
  bool add(double seconds, double processor_seconds, std::span<const double> computing);

 private:
  bool gather(double steps);

  const Session& session_;
  ShareRule rule_;
  std::optional<SharePlanner> planner_;  ///< null where shares stay as they are
  std::size_t arenas_bytes_ = 0;         ///< memory that other shares may take on this rank
  std::uint64_t steps_ = 0;              ///< since shares were decided on
  std::vector<double> own_;              ///< sums over the steps on this rank, see per_rank
  std::vector<double> all_;              ///< the same of all ranks
  std::vector<std::size_t> bytes_;       ///< that each rank brings
  StepMeasurement measurement_;          ///< averages of them
};

}  // namespace lockstep
