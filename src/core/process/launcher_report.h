#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// Report of a rank to lockstep-run, which started it: a line on stderr, since mpirun carries stderr from
/// every host. The line begins with a secret of the job, so that no data which a rank prints, such as the
/// name of a file, is mistaken for one. lockstep-run removes these lines from what people see. Messages for
/// people can be reworded freely: lockstep-run decides by reports. A rank's first report is empty: the rank
/// has started.
struct LauncherReport {
  /// End of the run because of one rank.
  struct Failure {
    int rank = -1;          ///< that failed; negative: its whole host
    std::string host;       ///< of that rank
    std::string cause;      ///< sentence for people, without advice
    std::string kind = {};  ///< the cause without times, steps and processes, by which equal failures are
                            ///< counted; empty: the whole cause
    bool known = true;      ///< false: the rank exited for an unknown reason, which mpirun may know

    bool operator==(const Failure&) const = default;
  };
  /// End of a run that was stopped. lockstep-run prints it, as only it knows the signal that it got itself.
  struct Stop {
    std::string cause;  ///< "SIGTERM", "SIGUSR1 to rank 2", "the time limit of 5m"
    std::string text;   ///< rest of the line, "at step 31; resume with: ..."

    bool operator==(const Stop&) const = default;
  };
  std::optional<Failure> failure = {};
  std::optional<Stop> stop = {};
  std::optional<std::string> run_directory = {};  ///< absolute path
  std::optional<std::uint64_t> step = {};        ///< steps made; the first report has those before this start
  std::optional<std::uint64_t> checkpoint = {};  ///< step of the newest one in the run directory; 0: none
  std::optional<int> status = {};  ///< exit status of all ranks, which have left MPI and are about to end

  bool operator==(const LauncherReport&) const = default;
};

/// Value of launcher_variable for the ranks of a job: version of this protocol and `secret`.
std::string launcher_value(const std::string& secret);

/// Start of all reports of the job with `secret`.
std::string report_marker(const std::string& secret);
/// Rest of the line of a report, without line feed.
std::string report_text(const LauncherReport& report);
/// Reads a text of report_text; nothing if it is none.
std::optional<LauncherReport> parse_report(std::string_view text);

/// Line of a stop for people.
std::string stop_line(const LauncherReport::Stop& stop);

/// Throws Error(usage) if lockstep-run started this process and its version has another protocol.
void check_launcher();
/// Whether lockstep-run started this process.
bool has_launcher();
/// Seconds since the first start of a run that lockstep-run has started again after a failure; 0: this is the
/// first start. Equal on all ranks.
double seconds_before_this_start();
/// Writes the report to stderr if lockstep-run started this process. Ignores errors.
void report_to_launcher(const LauncherReport& report);

}  // namespace lockstep
