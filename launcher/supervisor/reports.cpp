#include "supervisor/reports.h"

#include <optional>
#include <regex>
#include <string>
#include <utility>

namespace lockstep::launcher {
namespace {

/// Recognises a failure in a line of mpirun or ssh. Accepts only forms that no message of a rank can have.
std::optional<LauncherReport::Failure> read_failure_line(std::string_view line) {
  static const std::regex signal(
      R"(^\S+ noticed that process rank (\d{1,8}) with PID \d+ on node (\S+) exited on signal (\d+)( \([^)]*\))?)");
  static const std::regex host(
      R"(^ +Remote daemon: \S+ on node (\S+)|^ssh: (?:connect to host|Could not resolve hostname) ([^\s:]+))");
  constexpr std::size_t longest = 256;  // std::regex recurses for each character, on a relay's small stack
  if (line.size() > longest) return std::nullopt;
  const std::string text(line);
  std::smatch match;
  if (std::regex_search(text, match, signal)) {
    const std::string kind =
        "rank " + match[1].str() + " on host " + match[2].str() + " was killed by signal " + match[3].str();
    return LauncherReport::Failure{
        .rank = std::stoi(match[1].str()), .host = match[2], .cause = kind + match[4].str(), .kind = kind};
  }
  if (std::regex_search(text, match, host)) {
    const std::string name = match[1].matched ? match[1] : match[2];
    return LauncherReport::Failure{.rank = -1, .host = name, .cause = "host " + name + " does not answer"};
  }
  return std::nullopt;
}

}  // namespace

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
  attempt_.heard = true;
  if (report->failure && !take_failure(*report->failure)) return;
  if (report->run_directory) attempt_.run_directory = *report->run_directory;
  if (report->checkpoint) attempt_.checkpoint = *report->checkpoint;
  if (report->status) attempt_.ranks_status = report->status;
  if (report->stop) attempt_.stop = report->stop;
  if (!report->step) return;
  if (!std::exchange(attempt_.started, true)) attempt_.from_step = *report->step;
  attempt_.last_step = *report->step;
  if (!attempt_.first_step && attempt_.last_step > attempt_.from_step) attempt_.first_step = clock_();
}

/// Records `failure` if it is the first one, or explains the one recorded. Returns whether it was recorded.
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
