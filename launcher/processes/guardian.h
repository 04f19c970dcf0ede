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

/// A command to start, with what belongs to it alone.
struct Job {
  std::string name;  ///< unique on all hosts; part of the names of its files
  Places places;
  std::vector<std::string> command;
  std::vector<std::string> environment;  ///< NAME=VALUE, all of it
};

/// Standard streams of a job.
struct Streams {
  int in = 0;
  int out = 1;
  int err = 2;
};

/// A process that starts a job, and kills and cleans up all of it: on request, when the command has ended,
/// and when the process that made the guardian is gone for any reason. It has a session of its own, so
/// signals from a terminal do not reach it, and adopts what the job starts. If the guardian itself is killed,
/// the command is killed by the system, and the destructor does the rest.
///
/// One at a time, and to be made while this process has a single thread.
class Guardian {
 public:
  /// `on_signal`: called by `status` with a signal that somebody has sent to the command itself: SIGTERM,
  /// SIGINT, SIGHUP and SIGXCPU have no effect on the command, and after SIGSTOP it is continued. Not called
  /// with signals that this process ignores.
  Guardian(const Job& job, const Streams& streams, std::function<void(int)> on_signal);
  /// Ends what still runs, removes the job's files, and waits for it.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Descriptor that can be read when `status` has an answer.
  int descriptor() const { return link_.get(); }
  /// To be called about once a second: continues the guardian if it has been stopped for two seconds, as by
  /// SIGSTOP. A job that is suspended is stopped as a whole, this process included. Returns whether it did.
  bool continue_if_stopped();
  /// Sends a signal to the command. SIGKILL: ends all processes of the job.
  void send(int signal) const;
  /// Exit status of the command, or 128 + signal, when all processes of the job are gone; they leave files
  /// until the destructor. If the command cannot be started, stderr has the reason, and the status is 4 if
  /// the system has no process to spare, else 127. Empty: still running.
  std::optional<int> status();
  /// Whether the command hung and was killed: for some seconds, it did not notice that its children had
  /// ended. `status` is then that of the children.
  bool hung() const { return hung_; }
  /// Whether the command has had no children for some seconds, after it had some.
  bool childless() const { return childless_; }
  /// Whether a signal ended the command.
  bool crashed() const { return crashed_; }

 private:
  /// Finishes the work of a guardian that was killed.
  void take_over();

  Job job_;
  std::function<void(int)> on_signal_;
  std::vector<pid_t> others_;  ///< children of this process that are not of the job
  pid_t process_ = -1;
  pid_t command_ = -1;   ///< the command's process; negative: not started yet
  FileDescriptor link_;  ///< to the guardian, which takes its end for the end of this process
  std::optional<std::chrono::steady_clock::time_point> stopped_;  ///< when that was seen first
  std::optional<int> status_;
  bool is_lost_ = false;
  bool hung_ = false;
  bool childless_ = false;
  bool crashed_ = false;
};

}  // namespace lockstep::launcher
