#include "cli/train/stop_line.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "comm/world/launch.h"
#include "core/options/internal_variables.h"
#include "core/options/text.h"
#include "core/text/command_line.h"

namespace lockstep {

StartCommand start_command(std::vector<std::string> command) {
  if (const char* const launcher = std::getenv(start_variable)) return {launcher, std::move(command)};
  const std::string starter = read_launch().starter;
  return {(starter.empty() ? "" : starter + " ") + shell_line({program_invocation_name}), std::move(command)};
}

std::string resume_advice(const StartCommand& start, const std::string& run) {
  return fmt::format("resume with: {} {}", start.start, shell_line({"train", "--resume", run}));
}

LauncherReport::Stop stop_report(const StartCommand& start, const std::string& reason, std::uint64_t step,
                                 const std::string& run) {
  return {
      .cause = reason,
      .text = fmt::format("at step {}; {}", step,
                          run.empty() ? "nothing was saved: without a run directory, a run has to start again"
                                      : resume_advice(start, run))};
}

std::string too_late_line(const StartCommand& start, Duration limit, double before,
                          const std::string& resume) {
  return fmt::format(
      "lockstep: stopped before the first step: earlier starts have used {} of the time limit of {}; {}",
      value_text(Duration{std::floor(before)}), value_text(limit),
      resume.empty() || resume == "auto" ? "start again" : resume_advice(start, resume));
}

}  // namespace lockstep
