#pragma once

#include <optional>
#include <variant>

#include "core/clock.h"
#include "core/process/launcher_report.h"
#include "run/sinks/sink.h"

namespace lockstep {

/// Reports the number of steps to lockstep-run, after the first step and then once per second.
class LauncherSink : public Sink {
 public:
  void on_event(const RunEvent& event) override {
    const auto* const step = std::get_if<StepReport>(&event);
    if (step == nullptr) return;
    const double now = steady_seconds();
    if (reported_at_ && now < *reported_at_ + 1.0) return;
    report_to_launcher({.step = step->step});
    reported_at_ = now;
  }

 private:
  std::optional<double> reported_at_;  ///< steady_seconds() of the last report
};

}  // namespace lockstep
