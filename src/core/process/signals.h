#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/files/file.h"

namespace lockstep {

/// "SIGTERM"
std::string signal_name(int signal);

/// Time in which several SIGINT are one: a terminal and a launcher may both send the signal of one Ctrl-C,
/// and `timeout` sends one to a process and to its group.
inline constexpr std::chrono::milliseconds same_interrupt{500};

/// Signals that a training handles: SIGUSR2 asks for a checkpoint, and each other one stops it.
inline constexpr std::initializer_list<int> training_signals = {SIGTERM, SIGINT,  SIGHUP,
                                                                SIGXCPU, SIGUSR1, SIGUSR2};

sigset_t make_signal_set(std::initializer_list<int> signals);

/// Whether this process ignores the signal, as one that nohup has started does SIGHUP.
bool is_ignored(int signal);

/// Blocks all signals for the calling thread, and restores the ones that were blocked before. A thread that
/// is made meanwhile gets no signals.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked();
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Signals that arrive at a descriptor instead of interrupting: this thread, and threads that it makes, block
/// them. Those that this process ignores are left out, and stay ignored.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> signals);

  /// Descriptor that can be read when a signal has arrived.
  int descriptor() const { return descriptor_.get(); }
  /// Signals that have arrived since the last call.
  std::vector<int> take() const;

 private:
  FileDescriptor descriptor_;
};

}  // namespace lockstep
