#include "core/process/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstring>

namespace lockstep {

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

sigset_t make_signal_set(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

AllSignalsBlocked::AllSignalsBlocked() : before_() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

AllSignalsBlocked::~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Signals::Signals(std::initializer_list<int> signals) {
  sigset_t set = make_signal_set(signals);
  for (const int signal : signals) {
    if (is_ignored(signal)) sigdelset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::vector<int> Signals::take() const {
  std::vector<int> result;
  signalfd_siginfo info;
  while (read(descriptor_.get(), &info, sizeof info) == sizeof info) {
    result.push_back(static_cast<int>(info.ssi_signo));
  }
  return result;
}

}  // namespace lockstep
