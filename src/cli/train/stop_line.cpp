#include "cli/train/stop_line.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "core/options/text.h"

namespace lockstep {
namespace {

/// `text` as one word of a shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%,";
  if (text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

}  // namespace

std::string resume_advice(const std::string& run) {
  return "resume with: lockstep train --resume " + shell_word(run);
}

std::string begin_again_advice(const std::string& run) {
  return "resume with: lockstep train --resume auto --run-dir " + shell_word(run) +
         " and the options of its first start";
}

std::string stop_line(const std::string& reason, std::uint64_t step, const std::string& resume) {
  return fmt::format("lockstep: stopped by {} at step {}; {}", reason, step,
                     resume.empty() ? "nothing was saved: without a run directory, a run has to start again"
                                    : resume_advice(resume));
}

std::string too_late_line(Duration limit, double before, const std::string& resume) {
  return fmt::format(
      "lockstep: stopped before the first step: earlier starts have used {} of the time limit of {}; {}",
      value_text(Duration{std::floor(before)}), value_text(limit),
      resume.empty() || resume == "auto" ? "start again" : resume_advice(resume));
}

}  // namespace lockstep
