#include "train/shares/share_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

/// A trial begins if steps are expected to take at most `promising` of their present time, and succeeds if
/// they take at most `worthwhile` of it.
constexpr double promising = 0.9, worthwhile = 0.95;
/// A machine counts as busy if other programs take more than `busy` of the cores' time. The first plan after
/// equal shares then assumes that the slowest executor has at most `relieved` times the speed of the fastest.
/// With 8 leaves and two executors, the slower one gets 2 leaves; next to a busy loop, that is faster than 3.
constexpr double busy = 0.15, relieved = 0.4;
/// Maximum number of measurements between a failed trial and the next one; the number doubles after each
/// failure.
constexpr unsigned longest_pause = 32;

/// Time of the slowest executor; executors without leaves may have speed 0.
double seconds_with(const Shares& shares, std::span<const double> speeds) {
  double longest = 0.0;
  for (std::size_t e = 0; e < speeds.size(); ++e) {
    if (shares.leaves[e] > 0) longest = std::max(longest, shares.leaves[e] / speeds[e]);
  }
  return longest;
}

/// Distributes `leaves` leaves over executors, each leaf to the executor that would finish first with it. An
/// executor that had leaves keeps at least one.
void distribute(std::uint32_t leaves, std::span<const double> speeds, std::span<std::uint32_t> shares) {
  std::uint32_t given = 0;
  for (std::uint32_t& share : shares) given += share = std::min(share, 1U);
  for (; given < leaves; ++given) {
    std::size_t best = 0;
    const auto end_of = [&](std::size_t e) { return std::pair((shares[e] + 1) / speeds[e], shares[e]); };
    for (std::size_t e = 1; e < shares.size(); ++e) {
      if (end_of(e) < end_of(best)) best = e;
    }
    ++shares[best];
  }
}

}  // namespace

Shares fastest_shares(const Shares& shares, std::span<const double> speeds, bool ranks_keep) {
  Shares fastest = shares;
  const std::vector<std::size_t> bounds =
      ranks_keep ? shares.ranks : std::vector{std::size_t{0}, speeds.size()};
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const std::size_t first = bounds[i], count = bounds[i + 1] - first;
    const std::span own = std::span(fastest.leaves).subspan(first, count);
    distribute(std::reduce(own.begin(), own.end()), speeds.subspan(first, count), own);
  }
  return fastest;
}

SharePlanner::SharePlanner(Shares equal, bool ranks_keep)
    : equal_(std::move(equal)), shares_(equal_), ranks_keep_(ranks_keep), speeds_(shares_.leaves.size()) {}

bool SharePlanner::measured(const StepMeasurement& measurement) {
  learn_speeds(measurement);
  if (trial_) return !judge(measurement);
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  Shares other = candidate(measurement.stolen);
  if (other == shares_) return false;
  trial_ = {.before = std::exchange(shares_, std::move(other)), .seconds = measurement.seconds};
  return true;
}

/// Shares to try next; the present shares if no others promise a gain.
Shares SharePlanner::candidate(double stolen) const {
  if (stolen > busy && are_equal() && failures_ % 2 == 0) {
    std::vector<double> speeds = speeds_;
    const auto slowest = std::ranges::min_element(speeds, {}, [](double speed) {
      return speed > 0.0 ? speed : std::numeric_limits<double>::infinity();
    });
    *slowest = std::min(*slowest, relieved * std::ranges::max(speeds));
    return fastest_shares(shares_, speeds, ranks_keep_);
  }
  Shares fastest = fastest_shares(shares_, speeds_, ranks_keep_);
  const bool promises = seconds_with(fastest, speeds_) <= promising * seconds_with(shares_, speeds_);
  return promises ? fastest : shares_;
}

bool SharePlanner::change() {
  ++changes_;
  for (std::size_t e = 0; e < speeds_.size(); ++e) speeds_[e] = 1.0 + static_cast<double>((e + changes_) % 3);
  const Shares before = std::exchange(shares_, fastest_shares(shares_, speeds_, ranks_keep_));
  return shares_ != before;
}

/// Ends the trial. Returns whether its shares are kept.
bool SharePlanner::judge(const StepMeasurement& measurement) {
  Trial trial = *std::exchange(trial_, std::nullopt);
  if (measurement.seconds <= worthwhile * trial.seconds) {
    failures_ = 0;
    return true;
  }
  shares_ = std::move(trial.before);
  pause_ = std::min(longest_pause, 1U << std::min(failures_, 8U));
  ++failures_;
  return false;
}

void SharePlanner::learn_speeds(const StepMeasurement& measurement) {
  for (std::size_t e = 0; e < speeds_.size(); ++e) {
    if (shares_.leaves[e] > 0) speeds_[e] = shares_.leaves[e] / std::max(measurement.computing[e], 1e-9);
  }
}

}  // namespace lockstep
