#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/reports.h"

namespace lockstep {

/// Finds ranks that compute for longer than the others, from the times that ranks exchange at step
/// boundaries. A rank is found once it has taken more than 1.3 times the median for at least 20 steps and at
/// least 5 s in a row. Steps shorter than 0.25 s are averaged over 0.25 s, as schedulers let threads take
/// turns. With an even number of ranks, the lower median counts, so that the slower of two ranks can be
/// found. A rank is found at most three times, and again only after it has kept up for an equal period. The
/// result depends only on the times, so all ranks find the same stragglers.
class StragglerDetector {
 public:
  struct Finding {
    std::size_t rank = 0;
    std::uint64_t steps = 0;  ///< number of steps for which the rank has been slow
    double own = 0.0;         ///< the rank's average time of these steps, in the unit of the times
    double median = 0.0;      ///< average of the median in these steps

    bool operator==(const Finding&) const = default;
  };

  /// Adds the times of the next `steps` steps, which took `seconds` in total. `own`: average time that each
  /// rank computed in these steps, relative to its share; 0: unknown. Returns the ranks that are found now.
  std::vector<Finding> add(std::uint64_t steps, double seconds, std::span<const double> own);

 private:
  struct Streak {
    std::uint64_t steps = 0;
    double seconds = 0.0;
    double own = 0.0, median = 0.0;  ///< sums over the steps
    void add(const Streak& other);
    bool is_long() const;
  };
  struct Rank {
    double window = 0.0;     ///< sum of times over the steps of the window
    bool known = true;       ///< whether all of these times are known
    Streak slow = {};        ///< latest steps in a row in which the rank was too slow
    Streak keeping_up = {};  ///< latest steps in a row in which the rank kept up
    bool found = false;      ///< whether the rank was found and has not kept up since
    int times = 0;           ///< number of times that the rank was reported
  };
  std::vector<Finding> judge();
  double median() const;

  std::vector<Rank> ranks_;
  std::uint64_t window_steps_ = 0;
  double window_seconds_ = 0.0;
};

/// "rank 2 on host b computes 1.6 times as long per sample as the median of the ranks, for 20 steps (...)"
/// with advice, for a warning.
std::string message_of(const StragglerReport& report);

}  // namespace lockstep
