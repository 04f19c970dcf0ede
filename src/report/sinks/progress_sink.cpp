#include "report/sinks/progress_sink.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

namespace lockstep {
namespace {

constexpr double seconds_between_updates = 0.1;
constexpr double weight_of_new_step = 0.05;
constexpr const char* clear_line = "\r\x1b[K";

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string progress_line(const StepReport& event, double images_per_second, double seconds_left) {
  std::string line = fmt::format("epoch {}/{}  step {}", event.epoch, event.epochs, event.step);
  if (event.steps > 0) line += fmt::format("/{}", event.steps);
  line += fmt::format("  {:.0f} img/s  loss {:.4f}", images_per_second, event.loss);
  if (event.steps > 0 && std::isfinite(seconds_left))
    line += fmt::format("  {} left", duration(seconds_left));
  return line;
}

// The first line waits, too, so that a run of a few steps shows none.
ProgressSink::ProgressSink(std::FILE* stream, Clock clock)
    : stream_(stream), clock_(std::move(clock)), shown_at_(clock_()) {}

ProgressSink::~ProgressSink() { clear(); }

double ProgressSink::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ProgressSink::on_step(const StepReport& event) {
  const bool first = step_seconds_ == 0.0;
  step_seconds_ += (event.seconds - step_seconds_) * (first ? 1.0 : weight_of_new_step);
  const double now = clock_();
  if (now - shown_at_ < seconds_between_updates) return;
  shown_at_ = now;
  const double rate = step_seconds_ > 0.0 ? static_cast<double>(event.samples) / step_seconds_ : 0.0;
  const std::uint64_t steps_left = event.steps > event.step ? event.steps - event.step : 0;
  const std::string line = progress_line(event, rate, static_cast<double>(steps_left) * step_seconds_);
  std::fprintf(stream_, "%s%s", clear_line, line.c_str());
  std::fflush(stream_);
  visible_ = true;
}

void ProgressSink::on_epoch(const EpochReport& /*event*/) { clear(); }
void ProgressSink::on_end(const EndReport& /*event*/) { clear(); }

void ProgressSink::clear() {
  if (!visible_) return;
  std::fputs(clear_line, stream_);
  std::fflush(stream_);
  visible_ = false;
}

}  // namespace lockstep
