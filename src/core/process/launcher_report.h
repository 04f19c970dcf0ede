#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// Report of a rank to the lockstep-run that started it: a line on stderr, because mpirun forwards stderr
/// from every host. The line begins with a secret of the job, so that other output of a rank, such as a file
/// name, is not mistaken for a report. lockstep-run removes these lines from its output. It acts on reports
/// only, so human-readable messages can be reworded freely. A rank's first report is empty: the rank has
/// started.
struct LauncherReport {
  /// Failure of one rank that ended the run.
  struct Failure {
    int rank = -1;          ///< rank that failed; negative: its whole host failed
    std::string host;       ///< host of that rank
    std::string cause;      ///< human-readable sentence, without advice
    std::string kind = {};  ///< the cause without times, steps and processes, to count equal failures; empty:
                            ///< the whole cause
    bool known = true;      ///< false: the rank exited for an unknown reason, which mpirun may know

    bool operator==(const Failure&) const = default;
  };
  /// Requested stop that ended the run. lockstep-run prints it, because only lockstep-run knows which signal
  /// it received itself.
  struct Stop {
    std::string cause;  ///< "SIGTERM", "SIGUSR1 to rank 2", "the time limit of 5m"
    std::string text;   ///< rest of the line, "at step 31; resume with: ..."

    bool operator==(const Stop&) const = default;
  };
  std::optional<Failure> failure = {};
  std::optional<Stop> stop = {};
  std::optional<std::string> run_directory = {};  ///< absolute path
  std::optional<std::uint64_t> step = {};         ///< steps made; first report: steps before this start
  std::optional<std::uint64_t> checkpoint = {};   ///< newest checkpoint's step in run_directory; 0: none
  std::optional<int> status = {};  ///< exit status of all ranks, which have left MPI and are about to end

  bool operator==(const LauncherReport&) const = default;
};

/// Value of launcher_variable for the ranks of a job: the version of this protocol and `secret`.
std::string launcher_value(const std::string& secret);

/// Beginning of every report line of the job with `secret`.
std::string report_marker(const std::string& secret);
/// The part of a report line after the marker, without the line feed.
std::string report_text(const LauncherReport& report);
/// Parses what report_text returned; nullopt if `text` is not a report.
std::optional<LauncherReport> parse_report(std::string_view text);

/// Human-readable line about a stop.
std::string stop_line(const LauncherReport::Stop& stop);

/// Throws Error(usage) if lockstep-run started this process and uses another version of the protocol.
void check_launcher();
/// Whether lockstep-run started this process.
bool has_launcher();
/// Seconds since the first start of a run that lockstep-run has restarted after a failure; 0 on the first
/// start. Equal on all ranks.
double seconds_before_this_start();
/// Writes the report to stderr if lockstep-run started this process. Ignores errors.
void report_to_launcher(const LauncherReport& report);

}  // namespace lockstep
