#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace lockstep::launcher {

/// A request to stop, from the first signal until everything has ended. Decides which signals to send to
/// mpirun, and when. Sends first and prints afterwards, because a line may have to wait for its reader.
class StopRequest {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Options {
    bool can_save = true;  ///< whether ranks that are asked to stop write a checkpoint; else they are killed
    std::chrono::seconds grace{30};  ///< time for the checkpoint before they are killed
  };
  /// `send`: sends a signal to mpirun, or with SIGKILL kills all processes. `say`: prints a line.
  StopRequest(const Options& options, std::function<void(int)> send,
              std::function<void(const std::string&)> say);

  /// Handles a signal: passes SIGUSR2 on if ranks can write a checkpoint, else requests a stop. A second
  /// SIGINT kills.
  void on_signal(int signal, Time now);
  /// Sends the signal that is due, if any.
  void on_time(Time now);
  /// Time at which on_time has something to do; none: never.
  std::optional<Time> next() const { return next_; }

  /// The first signal; 0: none has arrived.
  int signal() const { return signal_; }
  bool requested() const { return signal_ != 0; }
  bool killed() const { return killed_; }

 private:
  void kill();

  Options options_;
  std::function<void(int)> send_;
  std::function<void(const std::string&)> say_;
  int signal_ = 0;
  bool killed_ = false;
  Time requested_at_;
  std::optional<Time> interrupted_at_;
  std::optional<Time> next_;
};

}  // namespace lockstep::launcher
