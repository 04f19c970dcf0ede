#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher {

/// Outcome of waiting for a program's output.
enum class Answer {
  complete,     ///< the output has ended
  late,         ///< the output has not ended within the limit
  interrupted,  ///< the descriptor Wait::interrupt became readable
  none,         ///< the program could not be started
};

struct ProgramOutput {
  Answer answer = Answer::none;
  std::string text{};           ///< stdout, as far as it was read
  std::string errors{};         ///< stderr, up to 64 KiB
  std::optional<int> status{};  ///< exit status, or 128 + signal; none: it did not end in time
  std::chrono::system_clock::time_point ended{};
};

/// Limits on waiting for programs to end.
struct Wait {
  std::chrono::milliseconds limit;
  int interrupt = -1;  ///< descriptor that ends the wait when it becomes readable; negative: none
  /// Called once, with the indices of the programs that have not ended after 5 s.
  std::function<void(const std::vector<std::size_t>&)> on_slow = {};
};

/// A program's full path and its arguments.
using CommandWords = std::vector<std::string>;

/// Starts all commands at once, without a shell or a terminal and with no signal blocked or ignored, and
/// reads their output. Then kills programs that still run, and their child processes, without waiting for
/// them to end: a process that waits for a device may not end. If the calling thread ends first, the system
/// kills the programs, but not their child processes.
std::vector<ProgramOutput> read_programs(const std::vector<CommandWords>& commands, const Wait& wait);

/// Same as read_programs, for a single command.
ProgramOutput read_program(const CommandWords& command, const Wait& wait);

}  // namespace lockstep::launcher
