#include "run/sinks/launcher_sink.h"

#include <variant>

#include "core/clock.h"
#include "core/process/launcher_report.h"

namespace lockstep {

void LauncherSink::on_event(const RunEvent& event) {
  const auto* const step = std::get_if<StepReport>(&event);
  if (step == nullptr) return;
  const double now = steady_seconds();
  if (reported_at_ && now < *reported_at_ + 1.0) return;
  report_to_launcher({.step = step->step});
  reported_at_ = now;
}

}  // namespace lockstep
