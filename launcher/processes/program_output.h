#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::launcher {

/// End of a wait for a program's output.
enum class Answer {
  complete,     ///< the output has ended
  late,         ///< not within the limit
  interrupted,  ///< a descriptor could be read
  none,         ///< the program could not be started
};

struct ProgramOutput {
  Answer answer = Answer::none;
  std::string text{};           ///< of stdout, as far as it was read
  std::string errors{};         ///< of stderr, up to 64 KiB
  std::optional<int> status{};  ///< exit status, or 128 + signal; none: it did not end in time
  std::chrono::system_clock::time_point ended{};
};

/// Limits of a wait for programs.
struct Wait {
  std::chrono::milliseconds limit;
  int interrupt = -1;  ///< descriptor that ends the wait when it can be read; negative: none
  /// Called once, with the numbers of the programs that have not ended after 5 s.
  std::function<void(const std::vector<std::size_t>&)> on_slow = {};
};

/// A program's full path and its arguments.
using CommandWords = std::vector<std::string>;

/// Starts all commands at once, without a shell, a terminal, or a signal that is blocked or ignored, and
/// reads their output. Then kills those that still run, and processes of theirs, without a wait for their
/// end: a process that waits for a device may not end. If the calling thread ends first, the system kills
/// the programs, but not processes of theirs.
std::vector<ProgramOutput> read_programs(const std::vector<CommandWords>& commands, const Wait& wait);

/// Same for a single command.
ProgramOutput read_program(const CommandWords& command, const Wait& wait);

}  // namespace lockstep::launcher
