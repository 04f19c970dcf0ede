#include "run/sinks/progress_text.h"

#include <fmt/format.h>

#include <cmath>

namespace lockstep {

std::string position_text(const StepReport& step) {
  const std::string text = fmt::format("epoch {}/{}  step {}", step.epoch, step.epochs, step.step);
  return step.steps > 0 ? fmt::format("{}/{}", text, step.steps) : text;
}

std::string time_left_text(const StepReport& step, double seconds_left) {
  if (step.steps == 0 || !std::isfinite(seconds_left)) return "";
  const auto whole = static_cast<long long>(std::llround(seconds_left));
  if (whole < 3600) return fmt::format("  {}:{:02} left", whole / 60, whole % 60);
  return fmt::format("  {}:{:02}:{:02} left", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string metric_text(double value) {
  const double size = std::fabs(value);
  const bool fixed = !std::isfinite(value) || value == 0.0 || (size >= 5e-5 && size < 1e5);
  return fixed ? fmt::format("{:.4f}", value) : fmt::format("{:.5g}", value);
}

}  // namespace lockstep
