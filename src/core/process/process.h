#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/files/file.h"

namespace lockstep {

/// Identity of a process of this host. The system may reuse the PID of a process that has ended; `start`
/// distinguishes the two.
struct ProcessId {
  std::int64_t number = 0;         ///< 0: none
  std::uint64_t start = 0;         ///< start time, in the kernel's clock ticks
  std::uint64_t number_space = 0;  ///< PID namespace; processes of other namespaces cannot be watched

  bool operator==(const ProcessId&) const = default;
};

ProcessId own_process();

/// Opens /dev/null for each closed standard stream of this process, because a later file or pipe would get
/// its number. Writing to stdout or stderr then still fails, with EBADF.
void open_standard_streams();

/// Name of this host; empty: unknown.
std::string host_name();

/// Identity of this process's network namespace, in which processes reach each other over loopback; 0:
/// unknown.
std::uint64_t own_network();

/// The parent process, if it is Open MPI's mpirun or its daemon.
std::optional<ProcessId> own_launcher();

/// Whether this process descends from a launcher (of Open MPI, MPICH, Slurm or Flux). Examines the parent
/// processes, because a launcher's environment variables may be left over in a shell.
bool is_below_launcher();

/// Facts about a process, according to /proc.
struct ProcessStatus {
  char state = '?';                     ///< R, S, D, T (stopped), t (traced), Z, X
  std::int64_t parent = 0;              ///< number of the parent process
  std::uint64_t start = 0;              ///< as in ProcessId
  std::optional<int> wait_status = {};  ///< of a zombie, as waitpid returns it

  bool is_stopped() const { return state == 'T' || state == 't'; }
  /// Whether the process has ended, even if its parent has not waited for it yet.
  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
/// Status of a process; nullopt if it does not exist.
std::optional<ProcessStatus> status_of(std::int64_t process);
/// Children of `parent`, including those that have ended but that `parent` has not waited for.
std::vector<pid_t> children_of(std::int64_t parent);
/// Signals pending for a process, not for one of its threads: bit S - 1 is signal S.
std::uint64_t pending_signals_of(std::int64_t process);

/// Exit status that a shell reports for `wait_status`: the process's own, or 128 + signal.
int exit_status_of(int wait_status);

/// Describes how a process ended: "was killed by signal 9 (Killed)", "has ended with status 1".
std::string describe_end(std::optional<int> wait_status);

/// Seconds for which the threads of a process have used a core and waited for one so far.
struct ProcessorTime {
  double used = 0.0;
  std::map<std::int64_t, double> delays = {};  ///< by thread
};
ProcessorTime processor_time_of(std::int64_t process);
/// Seconds for which the most delayed thread waited for a core between the two measurements.
double delay_between(const ProcessorTime& before, const ProcessorTime& after);

/// Another process of this host. Its end is detected with a descriptor that becomes readable (pidfd_open,
/// Linux 5.3), or on older kernels by reading /proc.
class WatchedProcess {
 public:
  WatchedProcess() = default;
  explicit WatchedProcess(ProcessId id);

  const ProcessId& id() const { return id_; }
  /// Descriptor for poll(); negative: none.
  int descriptor() const { return descriptor_.get(); }
  bool has_ended();
  /// Status of the ended process, as waitpid returns it; nullopt if unknown.
  std::optional<int> wait_status() const { return wait_status_; }
  /// Sends SIGKILL.
  void kill() const;
  /// Starts a process that kills the watched one after `seconds` unless it ends earlier. The new process
  /// outlives the caller. Does nothing if the kernel lacks pidfd_open.
  void kill_later(int seconds) const;

 private:
  ProcessId id_;
  bool visible_ = false;  ///< whether the watched process is in this process's PID namespace
  FileDescriptor descriptor_;
  bool ended_ = false;
  std::optional<int> wait_status_;
};

}  // namespace lockstep
