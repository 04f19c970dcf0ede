#include "processes/stop_request.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/process/signals.h"

namespace lockstep::launcher {

StopRequest::StopRequest(const Options& options, std::function<void(int)> send,
                         std::function<void(const std::string&)> say)
    : options_(options), send_(std::move(send)), say_(std::move(say)) {}

void StopRequest::on_signal(int signal, Time now) {
  if (killed_) return;
  if (signal == SIGUSR2 && options_.can_save) return send_(signal);  // asks for a checkpoint
  if (signal == SIGINT && interrupted_at_ && now - *interrupted_at_ >= same_interrupt) {
    kill();
    return say_("SIGINT again: ending the ranks");
  }
  if (signal == SIGINT && !interrupted_at_) interrupted_at_ = now;
  if (requested()) return;
  signal_ = signal;
  requested_at_ = now;
  if (!options_.can_save) {
    kill();
    if (signal == SIGUSR2) say_("SIGUSR2: ending the ranks, as only train writes checkpoints");
    return;
  }
  next_ = now;
  on_time(now);
  if (killed_) return;
  say_(signal_name(signal) + ": asking the ranks to stop" +
       (signal == SIGINT ? "; Ctrl-C again ends them at once" : ""));
}

void StopRequest::on_time(Time now) {
  if (!next_ || now < *next_) return;
  if (now >= requested_at_ + options_.grace) {
    kill();
    return say_("the ranks did not stop within " + std::to_string(options_.grace.count()) +
                " s; ending them");
  }
  // Repeated: mpirun passes the signal on to all ranks, but may lose it while it starts.
  send_(SIGUSR1);
  next_ = std::min(now + std::chrono::seconds(1), requested_at_ + options_.grace);
}

void StopRequest::kill() {
  killed_ = true;
  next_.reset();
  send_(SIGKILL);
}

}  // namespace lockstep::launcher
