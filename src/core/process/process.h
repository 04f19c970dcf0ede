#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/files/file.h"

namespace lockstep {

/// A process of this host, as long as it lives: its number may later belong to another one.
struct ProcessId {
  std::int64_t number = 0;         ///< 0: none
  std::uint64_t start = 0;         ///< when it was started, in the kernel's clock ticks
  std::uint64_t number_space = 0;  ///< namespace of its number; processes of another one cannot be watched

  bool operator==(const ProcessId&) const = default;
};

ProcessId own_process();

/// Opens /dev/null for each standard stream of this process that is closed, as another file or pipe would get
/// its number. Writing to stdout or stderr then still fails, with EBADF.
void open_standard_streams();

/// Name of this host; empty: unknown.
std::string host_name();

/// Identity of this process's network, with which processes reach each other over loopback; 0: unknown.
std::uint64_t own_network();

/// The process that has started this one, if it is Open MPI's mpirun or its daemon.
std::optional<ProcessId> own_launcher();

/// Whether a launcher (of Open MPI, MPICH, Slurm or Flux) has started this process or one of its parents.
/// Variables of a launcher may be left over in a shell; this looks at the processes instead.
bool is_below_launcher();

/// Facts about a process, according to /proc.
struct ProcessStatus {
  char state = '?';                     ///< R, S, D, T (stopped), t (traced), Z, X
  std::int64_t parent = 0;              ///< number of the process to which it belongs
  std::uint64_t start = 0;              ///< as in ProcessId
  std::optional<int> wait_status = {};  ///< of a zombie, as waitpid gives it

  bool is_stopped() const { return state == 'T' || state == 't'; }
  /// Whether it has ended, even if its parent has not waited for it yet.
  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
/// Nothing if there is no such process.
std::optional<ProcessStatus> status_of(std::int64_t process);
/// Children of `parent`, also those that have ended and for which it has not waited.
std::vector<pid_t> children_of(std::int64_t parent);
/// Signals that wait to be delivered to a process as a whole: bit S - 1 is signal S.
std::uint64_t pending_signals_of(std::int64_t process);

/// Exit status of a shell for a process that ended like this: its own, or 128 + signal.
int exit_status_of(int wait_status);

/// An end in words: "was killed by signal 9 (Killed)", "has ended with status 1".
std::string describe_end(std::optional<int> wait_status);

/// Seconds for which the threads of a process have had a core, and have waited for one, so far.
struct ProcessorTime {
  double used = 0.0;
  std::map<std::int64_t, double> delays = {};  ///< by thread
};
ProcessorTime processor_time_of(std::int64_t process);
/// Seconds for which the most delayed thread has waited for a core between two such measurements.
double delay_between(const ProcessorTime& before, const ProcessorTime& after);

/// Another process of this host. Its end is noticed by a descriptor that becomes readable (pidfd_open, Linux
/// 5.3), or on older kernels by looking at /proc.
class WatchedProcess {
 public:
  WatchedProcess() = default;
  explicit WatchedProcess(ProcessId id);

  const ProcessId& id() const { return id_; }
  /// Descriptor for poll(); negative: none.
  int descriptor() const { return descriptor_.get(); }
  bool has_ended();
  /// Status that waitpid gives for the ended process; nothing if unknown.
  std::optional<int> wait_status() const { return wait_status_; }
  /// SIGKILL.
  void kill() const;
  /// Starts a process that kills this one after `seconds` unless it ends before, and that outlives the
  /// caller. Does nothing if the kernel lacks pidfd_open.
  void kill_later(int seconds) const;

 private:
  ProcessId id_;
  bool visible_ = false;  ///< whether this process may look at it
  FileDescriptor descriptor_;
  bool ended_ = false;
  std::optional<int> wait_status_;
};

}  // namespace lockstep
