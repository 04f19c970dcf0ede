#include "processes/signals.h"

#include <sys/signalfd.h>

#include <csignal>

namespace lockstep::launcher {

Signals::Signals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::vector<int> Signals::take() const {
  std::vector<int> result;
  signalfd_siginfo info;
  while (read(descriptor_.get(), &info, sizeof info) == sizeof info) {
    result.push_back(static_cast<int>(info.ssi_signo));
  }
  return result;
}

}  // namespace lockstep::launcher
