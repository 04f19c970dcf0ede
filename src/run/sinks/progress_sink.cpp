#include "run/sinks/progress_sink.h"

#include <fmt/format.h>

#include <utility>

#include "core/text/message.h"

namespace lockstep {
namespace {

constexpr double seconds_between_updates = 0.1;
constexpr double weight_of_new_step = 0.05;

}  // namespace

std::string progress_line(const StepReport& event, double samples_per_second, double seconds_left,
                          SampleKind kind) {
  return fmt::format("{}  {:.0f} {}  loss {}{}", position_text(event), samples_per_second, speed_unit(kind),
                     metric_text(event.loss), time_left_text(event, seconds_left));
}

// The first line also waits for seconds_between_updates, so a run of a few steps shows none.
ProgressSink::ProgressSink(std::FILE* stream, Clock clock, SampleKind kind)
    : stream_(stream), clock_(std::move(clock)), kind_(kind), shown_at_(clock_()) {}

ProgressSink::~ProgressSink() { clear(); }

void ProgressSink::on_event(const RunEvent& event) {
  if (const auto* step = std::get_if<StepReport>(&event)) {
    show(*step);
  } else if (std::holds_alternative<EpochReport>(event) || std::holds_alternative<EndReport>(event)) {
    clear();
  }
}

void ProgressSink::show(const StepReport& event) {
  const bool first = step_seconds_ == 0.0;
  step_seconds_ += (event.seconds - step_seconds_) * (first ? 1.0 : weight_of_new_step);
  const double now = clock_();
  if (now - shown_at_ < seconds_between_updates) return;
  shown_at_ = now;
  const double rate = step_seconds_ > 0.0 ? static_cast<double>(event.samples) / step_seconds_ : 0.0;
  const std::string line = progress_line(event, rate, steps_left(event) * step_seconds_, kind_);
  if (!wait_for_reader(stream_)) return;
  std::fprintf(stream_, "%s%s", erase_line, line.c_str());
  std::fflush(stream_);
  if (stream_ == stderr) replace_last_line();
  visible_ = true;
}

void ProgressSink::clear() {
  if (!visible_ || !wait_for_reader(stream_)) return;
  std::fputs(erase_line, stream_);
  std::fflush(stream_);
  visible_ = false;
}

}  // namespace lockstep
