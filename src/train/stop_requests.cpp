#include "lockstep/stop_requests.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "comm/world/launch.h"
#include "core/clock.h"
#include "core/options/text.h"
#include "core/process/launcher_report.h"
#include "core/process/signals.h"
#include "core/text/message.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "watch/watch.h"

namespace lockstep {
namespace {

constexpr std::byte time_limit{255};  // cause of a stop, in addition to the signal numbers

/// State that the handler shares with the process's StopRequests. A handler may use lock-free atomics only.
struct Received {
  std::atomic<bool> waits{false};          ///< whether signals wait for a boundary
  std::atomic<bool> announces{false};      ///< whether this process prints
  std::atomic<bool> has_launcher{false};   ///< whether lockstep-run sends SIGUSR1 and prints the advice
  std::atomic<int> ending{0};              ///< threads that end the process before the run
  std::atomic<bool> announced{false};      ///< whether one of these threads has printed
  std::atomic<int> stop{0};                ///< first signal that stops the run; 0: none
  std::atomic<std::int64_t> sigint_at{0};  ///< time of the first SIGINT in nanoseconds; 0: none
  std::atomic<bool> checkpoint{false};
};
Received received;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

std::array<struct sigaction, training_signals.size()> earlier_actions;

void write_text(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void sleep_for(int milliseconds) {
  const timespec time{.tv_sec = 0, .tv_nsec = milliseconds * 1'000'000L};
  nanosleep(&time, nullptr);
}

/// Whether the run has not begun; if so, wait_for_boundaries never returns.
bool prevents_the_run() {
  received.ending.fetch_add(1);
  if (!received.waits.load()) return true;
  received.ending.fetch_sub(1);
  return false;
}

/// Prints a line on rank 0, and ends the process. mpirun may lose a line that arrives while a rank exits:
/// rank 0 waits until its line is read, and the other ranks wait until rank 0, if it also got the signal, has
/// exited.
[[noreturn]] void end_before_the_run(int number) {
  if (!received.announces.load()) {
    sleep_for(600);
  } else {
    if (!received.announced.exchange(true)) {
      write_text("lockstep: stopped");
      if (number != SIGUSR1 || !received.has_launcher.load()) {
        write_text(" by SIG");
        write_text(sigabbrev_np(number));
      }
      write_text(" before the first step: there is nothing to save");
      write_text(received.has_launcher.load() ? "\n" : "; start again\n");
    }
    sleep_for(300);
  }
  announce_end();
  _exit(static_cast<int>(Category::stopped));
}

/// Whether the SIGINT that has just arrived is neither the first one nor an echo of the first.
bool interrupts_again() {
  constexpr std::int64_t same = std::chrono::nanoseconds(same_interrupt).count();
  const std::int64_t time = clock_nanoseconds(CLOCK_MONOTONIC);
  std::int64_t first = 0;
  return !received.sigint_at.compare_exchange_strong(first, time) && time - first >= same;
}

extern "C" void lockstep_on_signal(int number) {
  const int earlier_errno = errno;
  if (number == SIGUSR2) {
    received.checkpoint.store(true);
  } else if (!has_announced_end() && prevents_the_run()) {  // after a rank fails, mpirun ends the others
    end_before_the_run(number);
  } else {
    int none = 0;
    received.stop.compare_exchange_strong(none, number);
    give_up_blocked_output();
    if (number == SIGINT && interrupts_again()) {
      announce_end();
      signal(SIGINT, SIG_DFL);
      raise(SIGINT);  // delivered when the handler returns
    }
  }
  errno = earlier_errno;
}

}  // namespace

StopRequests::StopRequests() : started_(steady_seconds()) {
  received.waits.store(false);
  received.announces.store(read_launch().rank == 0);
  received.has_launcher.store(has_launcher());
  received.ending.store(0);
  received.announced.store(false);
  received.stop.store(0);
  received.sigint_at.store(0);
  received.checkpoint.store(false);
  struct sigaction action {};
  action.sa_handler = lockstep_on_signal;
  action.sa_flags = SA_RESTART;
  action.sa_mask = make_signal_set(training_signals);
  auto earlier = earlier_actions.begin();
  for (const int number : training_signals) {
    sigaction(number, is_ignored(number) ? nullptr : &action, &*earlier++);
  }
}

StopRequests::~StopRequests() {
  auto earlier = earlier_actions.begin();
  for (const int number : training_signals) sigaction(number, &*earlier++, nullptr);
}

double StopRequests::seconds() const { return steady_seconds() - started_; }

double StopRequests::time_for_end() const { return end_ > 0.0 ? end_ : std::min(30.0, 0.05 * limit_); }

void StopRequests::expect_end(double seconds) { end_ = std::max(end_, seconds); }

void StopRequests::wait_for_boundaries() {
  asked_at_ = seconds();
  received.waits.store(true);
  while (received.ending.load() > 0) sleep_for(10);  // another thread ends the process
}

Request StopRequests::ask() {
  if (received.stop.load() != 0 || time_is_over()) return Request::stop;
  return received.checkpoint.load() ? Request::checkpoint : Request::none;
}

bool StopRequests::time_is_over() {
  const double present = seconds();
  between_[asked_++ % between_.size()] = present - std::exchange(asked_at_, present);
  if (limit_ <= 0.0) return false;
  out_of_time_ = before_ + present + 2.0 * std::ranges::max(between_) + time_for_end() >= limit_;
  return out_of_time_;
}

void StopRequests::carried_out(Request request) {
  received.checkpoint.store(false);
  if (request == Request::stop) stopped_ = true;
}

std::string StopRequests::reason(const World& world) const {
  const int own_signal = received.stop.load();
  const std::byte own = own_signal != 0 ? static_cast<std::byte>(own_signal)
                        : out_of_time_  ? time_limit
                                        : std::byte{0};
  const std::vector<std::byte> all = world.all_gather({&own, 1});
  const auto first = std::ranges::find_if(all, [](std::byte cause) { return cause != std::byte{0}; });
  if (first == all.end()) return "request";
  if (*first == time_limit) return "the time limit of " + value_text(Duration{limit_});
  std::string name = signal_name(std::to_integer<int>(*first));
  if (std::ranges::count(all, *first) == world.size()) return name;
  return fmt::format("{} to rank {}", name, first - all.begin());
}

}  // namespace lockstep
