#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "lockstep/error.h"
#include "support/text.h"

namespace lockstep::test {

struct CommandOutcome {
  int status = -1;  ///< -1: an error was thrown
  std::string out{};
  std::optional<Error> error{};
};

/// Runs a command in this process and catches its error.
inline CommandOutcome attempt_command(const Command& command, Words arguments) {
  std::string name = command.name;
  std::vector<char*> pointers{name.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  CommandOutcome outcome;
  testing::internal::CaptureStdout();
  try {
    outcome.status = command.run(static_cast<int>(pointers.size()), pointers.data());
  } catch (const Error& error) {
    outcome.error = error;
  }
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  return outcome;
}

/// Runs a command in this process. Errors propagate to the caller.
inline CommandOutcome run_command(const Command& command, Words arguments) {
  CommandOutcome outcome = attempt_command(command, std::move(arguments));
  if (outcome.error) throw Error(*outcome.error);
  return outcome;
}

}  // namespace lockstep::test
