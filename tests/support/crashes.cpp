#include "support/crashes.h"

#include <gtest/gtest.h>

#include "support/failing_files.h"

namespace lockstep {

std::uint64_t crash_everywhere(SimulatedFiles& disk, std::uint64_t choices, const std::function<void()>& work,
                               const std::function<void()>& check) {
  std::uint64_t checks = 0;
  const auto crash = [&](const FileCall& call) {
    for (std::uint64_t i = 0; i < choices && !::testing::Test::HasFailure(); ++i) {
      const std::uint64_t choice = i < 2 ? i : call.number * choices + i;
      const std::unique_ptr<SimulatedFiles> after = disk.crash(choice);
      const ScopedFiles replaced(*after);
      SCOPED_TRACE("choice " + std::to_string(choice) + " of what a crash keeps before call " +
                   std::to_string(call.number) + ", " + call.name + " " + call.path.string());
      check();
      ++checks;
    }
    return 0;
  };
  FailingFiles files(disk, crash);
  {
    const ScopedFiles replaced(files);
    work();
  }
  crash({.number = files.calls() + 1, .name = "none"});
  return checks;
}

}  // namespace lockstep
