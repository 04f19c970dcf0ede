#include "cli/train/stop_line.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "comm/world/launch.h"
#include "core/options/internal_variables.h"
#include "core/options/text.h"
#include "core/text/command_line.h"

namespace lockstep {

std::string own_start() {
  if (const char* const launcher = std::getenv(start_variable)) return launcher;
  const std::string starter = read_launch().starter;
  return (starter.empty() ? "" : starter + " ") + shell_line({program_invocation_name});
}

std::string resume_advice(const std::string& start, const std::string& run) {
  return fmt::format("resume with: {} {}", start, shell_line({"train", "--resume", run}));
}

LauncherReport::Stop stop_report(const std::string& start, const std::string& reason, std::uint64_t step,
                                 const std::string& run) {
  return {
      .cause = reason,
      .text = fmt::format("at step {}; {}", step,
                          run.empty() ? "nothing was saved: without a run directory, a run has to start again"
                                      : resume_advice(start, run))};
}

std::string too_late_line(const std::string& start, Duration limit, double before,
                          const std::string& resume) {
  return fmt::format(
      "lockstep: stopped before the first step: earlier starts have used {} of the time limit of {}; {}",
      value_text(Duration{std::floor(before)}), value_text(limit),
      resume.empty() || resume == "auto" ? "start again" : resume_advice(start, resume));
}

}  // namespace lockstep
