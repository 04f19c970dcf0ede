#pragma once

#include <chrono>
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
  std::string text;  ///< of stdout, as far as it was read
};

/// Starts `command`, a path and its arguments, without a shell and with no signal blocked or ignored, and
/// reads its stdout for up to `limit`, or until the descriptor `interrupt` can be read. stderr is thrown
/// away. Then kills it, without a wait for its end: a process that waits for a device may not end.
ProgramOutput read_program(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                           int interrupt);

}  // namespace lockstep::launcher
