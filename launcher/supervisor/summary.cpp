#include "supervisor/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

#include "core/text/printable.h"

namespace lockstep::launcher {
namespace {

/// Time of an attempt's steps that were not lost.
double useful_seconds_of(const Attempt& attempt) {
  if (!attempt.first_step) return attempt.failed() ? 0 : attempt.ended - attempt.began;
  const double stepping = attempt.ended - *attempt.first_step;
  if (!attempt.failed()) return stepping;
  if (attempt.last_step <= attempt.from_step || attempt.checkpoint <= attempt.from_step) return 0;
  const auto kept = static_cast<double>(attempt.checkpoint - attempt.from_step);
  const auto made = static_cast<double>(attempt.last_step - attempt.from_step);
  return stepping * std::min(1.0, kept / made);
}

}  // namespace

Summary summarise(std::span<const Attempt> attempts) {
  Summary result;
  result.seconds = attempts.back().ended - attempts.front().began;
  if (attempts.front().first_step)
    result.useful_seconds = *attempts.front().first_step - attempts.front().began;
  for (const Attempt& attempt : attempts) {
    const std::uint64_t kept = std::max(attempt.from_step, attempt.checkpoint);
    if (attempt.failed() && attempt.last_step > kept) result.lost_steps += attempt.last_step - kept;
    result.useful_seconds += useful_seconds_of(attempt);
  }
  return result;
}

std::string cause_of(const Attempt& attempt) {
  if (attempt.failure) return attempt.failure->cause;
  if (!attempt.mpirun_failure.empty()) return attempt.mpirun_failure;
  const int signal = attempt.status - 128;
  return signal > 0 && signal < NSIG ? "signal " + std::to_string(signal)
                                     : "status " + std::to_string(attempt.status);
}

std::string summary_line(std::span<const Attempt> attempts) {
  const Summary summary = summarise(attempts);
  std::vector<std::pair<std::string, int>> causes;  // in the order of their first occurrence
  for (const Attempt& attempt : attempts) {
    if (!attempt.failed()) continue;
    const bool has_kind = attempt.failure && !attempt.failure->kind.empty();
    const std::string cause = has_kind ? attempt.failure->kind : cause_of(attempt);
    const auto known = std::ranges::find_if(causes, [&](const auto& entry) { return entry.first == cause; });
    if (known == causes.end()) {
      causes.emplace_back(cause, 1);
    } else {
      ++known->second;
    }
  }
  std::string line = counted(attempts.size() - 1, "restart");
  for (std::size_t i = 0; i < causes.size(); ++i) {
    line += (i == 0 ? " (" : "; ") + causes[i].first;
    if (causes[i].second > 1) line += ", " + std::to_string(causes[i].second) + " times";
  }
  if (!causes.empty()) line += ")";
  // Ranks report their steps once per second: the steps of a killed run's last second may be missing.
  return fmt::format("{}; lost steps: {}{}; useful time {:.1f} % of {:.0f} s", line,
                     causes.empty() ? "" : "at least ", summary.lost_steps,
                     summary.seconds > 0 ? 100 * summary.useful_seconds / summary.seconds : 0,
                     summary.seconds);
}

}  // namespace lockstep::launcher
