#include "train/loop/stragglers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/printable.h"

namespace lockstep {
namespace {

constexpr double too_slow = 1.3;
constexpr std::uint64_t steps_of_a_stretch = 20;
constexpr double seconds_of_a_stretch = 5.0;
constexpr double seconds_of_a_window = 0.25;
constexpr int max_findings = 3;

}  // namespace

void StragglerDetector::Streak::add(const Streak& other) {
  steps += other.steps;
  seconds += other.seconds;
  own += other.own;
  median += other.median;
}

bool StragglerDetector::Streak::is_long() const {
  return steps >= steps_of_a_stretch && seconds >= seconds_of_a_stretch;
}

std::vector<StragglerDetector::Finding> StragglerDetector::add(std::uint64_t steps, double seconds,
                                                               std::span<const double> own) {
  ranks_.resize(own.size());
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    ranks_[rank].window += static_cast<double>(steps) * own[rank];
    ranks_[rank].known = ranks_[rank].known && own[rank] > 0.0;
  }
  window_steps_ += steps;
  window_seconds_ += seconds;
  if (window_seconds_ < seconds_of_a_window) return {};
  std::vector<Finding> found = judge();
  window_steps_ = 0;
  window_seconds_ = 0.0;
  for (Rank& rank : ranks_) {
    rank.window = 0.0;
    rank.known = true;
  }
  return found;
}

/// Lower median of the seconds that ranks needed for the recent steps; 0 if the times of fewer than two ranks
/// are known.
double StragglerDetector::median() const {
  std::vector<double> known;
  for (const Rank& rank : ranks_) {
    if (rank.known) known.push_back(rank.window);
  }
  if (known.size() < 2) return 0.0;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::ranges::nth_element(known, middle);
  return *middle;
}

std::vector<StragglerDetector::Finding> StragglerDetector::judge() {
  std::vector<Finding> result;
  const double middle = median();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (!rank.known || middle <= 0.0) {
      rank.slow = rank.keeping_up = {};
      continue;
    }
    const bool slow = rank.window > too_slow * middle;
    Streak& streak = slow ? rank.slow : rank.keeping_up;
    (slow ? rank.keeping_up : rank.slow) = {};
    streak.add({.steps = window_steps_, .seconds = window_seconds_, .own = rank.window, .median = middle});
    if (!streak.is_long() || rank.found == slow) continue;
    rank.found = slow;
    if (!slow || rank.times == max_findings) continue;
    ++rank.times;
    const auto steps = static_cast<double>(streak.steps);
    result.push_back(
        {.rank = i, .steps = streak.steps, .own = streak.own / steps, .median = streak.median / steps});
  }
  return result;
}

std::string message_of(const StragglerReport& report) {
  return fmt::format(
      "rank {} on host {} computes {:.1f} times as long per sample as the median of the ranks, for {} "
      "({:.3g} ms, median {:.3g} ms), and the others wait for it: look for other programs on that host, the "
      "clock rate and temperature of its processor, slow reading of samples, and where its threads are bound",
      report.rank, report.host, report.seconds / report.median, counted(report.steps, "step"),
      1e3 * report.seconds, 1e3 * report.median);
}

}  // namespace lockstep
