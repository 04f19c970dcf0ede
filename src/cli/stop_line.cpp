#include "cli/stop_line.h"

#include <fmt/format.h>

namespace lockstep {

std::string stop_line(const std::string& reason, std::uint64_t step, const std::string& resume) {
  return fmt::format("lockstep: stopped by {} at step {}; {}", reason, step,
                     resume.empty() ? "nothing was saved: without a run directory, a run has to start again"
                                    : "resume with: lockstep train --resume " + resume);
}

}  // namespace lockstep
