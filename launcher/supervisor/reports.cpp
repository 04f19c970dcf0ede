#include "supervisor/reports.h"

#include <optional>
#include <utility>

#include "supervisor/failure_line.h"

namespace lockstep::launcher {

Reports::Reports(Attempt attempt, std::function<double()> clock)
    : clock_(std::move(clock)), attempt_(std::move(attempt)) {}

void Reports::take_line(std::string_view line) {
  const auto failure = read_failure_line(line);
  if (!failure) return;
  const std::lock_guard lock(mutex_);
  take_failure(*failure);
}

void Reports::take_report(std::string_view text) {
  const std::optional<LauncherReport> report = parse_report(text);
  if (!report) return;
  const std::lock_guard lock(mutex_);
  if (report->failure && !take_failure(*report->failure)) return;
  if (!report->run_directory.empty()) attempt_.run_directory = report->run_directory;
  if (report->checkpoint) attempt_.checkpoint = *report->checkpoint;
  if (report->status) attempt_.ranks_status = report->status;
  if (report->stop) attempt_.stop = report->stop;
  if (!report->step) return;
  if (!std::exchange(started_, true)) attempt_.from_step = *report->step;
  attempt_.last_step = *report->step;
  if (!attempt_.first_step && attempt_.last_step > attempt_.from_step) attempt_.first_step = clock_();
}

/// Returns whether this is the first failure, or explains it.
bool Reports::take_failure(const LauncherReport::Failure& failure) {
  const auto& first = attempt_.failure;
  const bool explains = first && !first->known && first->rank == failure.rank;
  if (first && !explains) return false;
  attempt_.failure = failure;
  return true;
}

Attempt Reports::attempt() const {
  const std::lock_guard lock(mutex_);
  return attempt_;
}

}  // namespace lockstep::launcher
