#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/files/file.h"
#include "processes/leftovers.h"

namespace lockstep::launcher {

/// A command to start, with a name, places for its files and an environment of its own.
struct Job {
  std::string name;  ///< unique on all hosts; part of the names of its files
  Places places;
  std::vector<std::string> command;
  std::vector<std::string> environment;  ///< the complete environment, as NAME=VALUE
};

/// Standard streams of a job.
struct Streams {
  int in = 0;
  int out = 1;
  int err = 2;
};

/// A process that starts a job. It kills all processes of the job and removes its files: on request, when the
/// command has ended, and when the process that made the guardian is gone for any reason. The guardian has a
/// session of its own, so signals from a terminal do not reach it, and adopts all processes that the job
/// starts. If the guardian itself is killed, the system kills the command, and the destructor does the rest.
///
/// Only one guardian may exist at a time. Must be constructed while this process has a single thread.
class Guardian {
 public:
  /// `on_signal`: called by `status` with a signal that was sent directly to the command. SIGTERM, SIGINT,
  /// SIGHUP and SIGXCPU have no effect on the command, and after SIGSTOP it is continued. Not called with
  /// signals that this process ignores.
  Guardian(const Job& job, const Streams& streams, std::function<void(int)> on_signal);
  /// Kills processes of the job that still run, removes its files, and waits for the guardian.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Descriptor that becomes readable when `status` has an answer.
  int descriptor() const { return link_.get(); }
  /// To be called about once a second: continues the guardian if it has been stopped for two seconds, as by
  /// SIGSTOP. Suspending a job stops this process, too. Returns whether the guardian was continued.
  bool continue_if_stopped();
  /// Sends a signal to the command; SIGKILL kills all processes of the job instead.
  void send(int signal) const;
  /// Exit status of the command, or 128 + signal, once all processes of the job are gone; empty: still
  /// running. Their files remain until the destructor. If the command cannot be started, stderr has the
  /// reason, and the status is 4 if the system has no process to spare, else 127.
  std::optional<int> status();
  /// Whether the command hung and was killed: for some seconds, it did not notice that its children had
  /// ended. `status` then returns a status derived from the children.
  bool hung() const { return hung_; }
  /// Whether the command has had no children for some seconds, after it had some.
  bool childless() const { return childless_; }
  /// Whether a signal ended the command.
  bool crashed() const { return crashed_; }

 private:
  /// Ends the processes of the job in place of a guardian that was killed.
  void take_over();

  Job job_;
  std::function<void(int)> on_signal_;
  std::vector<pid_t> others_;  ///< children of this process that do not belong to the job
  pid_t process_ = -1;
  pid_t command_ = -1;   ///< PID of the command; negative: not started yet
  FileDescriptor link_;  ///< socket to the guardian, which ends the job when the socket is closed
  std::optional<std::chrono::steady_clock::time_point> stopped_;  ///< when first seen stopped
  std::optional<int> status_;
  bool is_lost_ = false;
  bool hung_ = false;
  bool childless_ = false;
  bool crashed_ = false;
};

}  // namespace lockstep::launcher
