#include "run/sinks/log_sink.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep {
namespace {

constexpr double seconds_to_first_line = 10.0;

}  // namespace

LogSink::LogSink(Period period, std::string prefix, std::function<void(std::string_view)> write,
                 std::function<double()> clock, SampleKind kind)
    : period_(period),
      prefix_(std::move(prefix)),
      write_(std::move(write)),
      clock_(std::move(clock)),
      kind_(kind),
      started_(clock_()),
      line_at_(started_) {}

void LogSink::on_event(const RunEvent& event) {
  if (const auto* step = std::get_if<StepReport>(&event)) add(*step);
}

void LogSink::add(const StepReport& step) {
  ++steps_;
  samples_ += step.samples;
  loss_ += step.loss * static_cast<double>(step.samples);
  seconds_ += step.seconds;
  const double now = clock_();
  if (!due(step, now)) return;
  const auto samples = static_cast<double>(samples_);
  const std::string norm =
      step.gradient_norm == 0.0 ? "" : fmt::format("  gradient norm {:.4g}", step.gradient_norm);
  write_(fmt::format("{}{}  loss {}  lr {:.4g}{}  {:.0f} {}{}", prefix_, position_text(step),
                     metric_text(loss_ / samples), step.learning_rate, norm, samples / seconds_,
                     speed_unit(kind_), time_left_text(step, seconds_left(step, now))));
  line_at_ = now;
  wrote_ = true;
  samples_ = 0;
  loss_ = 0.0;
  seconds_ = 0.0;
}

bool LogSink::due(const StepReport& step, double now) const {
  if (period_.steps > 0) return step.step % period_.steps == 0;
  const double waited = now - line_at_;
  if (waited >= period_.time.seconds) return true;
  if (wrote_ || waited < seconds_to_first_line) return false;
  return step.steps == 0 || waited + seconds_left(step, now) >= period_.time.seconds;
}

/// Estimate from the mean time of a step since the start, including evaluations.
double LogSink::seconds_left(const StepReport& step, double now) const {
  return steps_left(step) * (now - started_) / static_cast<double>(steps_);
}

}  // namespace lockstep
