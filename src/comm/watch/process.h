#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

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

/// The process that has started this one, if it is Open MPI's mpirun or its daemon.
std::optional<ProcessId> own_launcher();

/// Facts about a process, according to /proc.
struct ProcessStatus {
  char state = '?';                     ///< R, S, D, T (stopped), t (traced), Z, X
  std::uint64_t start = 0;              ///< as in ProcessId
  std::optional<int> wait_status = {};  ///< of a zombie, as waitpid gives it
};
/// Nothing if there is no such process.
std::optional<ProcessStatus> status_of(std::int64_t process);

/// "was killed by signal 9 (Killed)", "has ended with status 1"; "has ended without telling why".
std::string describe_end(std::optional<int> wait_status);

/// Seconds for which the threads of a process have had a core, and have waited for one, so far.
struct ProcessorTime {
  double used = 0.0;
  std::map<std::int64_t, double> delays = {};  ///< by thread
};
ProcessorTime processor_time_of(std::int64_t process);
/// Seconds for which the most delayed thread has waited for a core between two such measurements.
double delay_between(const ProcessorTime& before, const ProcessorTime& after);

/// Another process of this host. Reports its end once, as soon as the kernel allows: by a descriptor
/// (pidfd_open, Linux 5.3) that becomes readable, or else by looking at /proc.
class WatchedProcess {
 public:
  WatchedProcess() = default;
  explicit WatchedProcess(ProcessId id);

  const ProcessId& id() const { return id_; }
  /// Descriptor for poll(); negative: none.
  int descriptor() const { return descriptor_.get(); }
  bool has_ended();
  /// How it has ended, as waitpid gives it; nothing where that is not known.
  std::optional<int> wait_status() const { return wait_status_; }
  /// SIGKILL.
  void kill() const;
  /// Starts a process that kills this one after `seconds` unless it ends before, and that outlives the
  /// caller. Does nothing where the kernel lacks pidfd_open.
  void kill_later(int seconds) const;

 private:
  ProcessId id_;
  bool visible_ = false;  ///< whether this process may look at it
  FileDescriptor descriptor_;
  bool ended_ = false;
  std::optional<int> wait_status_;
};

}  // namespace lockstep
