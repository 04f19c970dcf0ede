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

/// SIGINTs within this time count as one: for one Ctrl-C, a terminal and a launcher may both send a signal,
/// and `timeout` sends one to a process and one to its group.
inline constexpr std::chrono::milliseconds same_interrupt{500};

/// Signals that a training run handles: SIGUSR2 requests a checkpoint, and each of the others stops the run.
inline constexpr std::initializer_list<int> training_signals = {SIGTERM, SIGINT,  SIGHUP,
                                                                SIGXCPU, SIGUSR1, SIGUSR2};

sigset_t make_signal_set(std::initializer_list<int> signals);

/// Whether this process ignores the signal; a process started by nohup ignores SIGHUP, for example.
bool is_ignored(int signal);

/// Blocks all signals for the calling thread; the destructor restores the previous mask. A thread that is
/// created meanwhile receives no signals.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked();
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Receives signals through a descriptor, without interruptions: the constructing thread, and threads that it
/// creates later, block them. Signals that this process ignores are left out and stay ignored.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> signals);

  /// Descriptor that becomes readable when a signal has arrived.
  int descriptor() const { return descriptor_.get(); }
  /// Signals that have arrived since the last call.
  std::vector<int> take() const;

 private:
  FileDescriptor descriptor_;
};

}  // namespace lockstep
