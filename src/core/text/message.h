#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

/// Writes `text` as one line to stderr, in a single call, so that lines of several threads do not mix.
/// Control characters, which file names may contain, become question marks. Prints nothing if `text` is
/// empty. Ignores errors.
void print_message(std::string_view text);

/// Waits until a descriptor accepts 4096 bytes without blocking. Returns false if it still does not 3 s after
/// give_up_blocked_output: its reader, such as a pager, may never continue.
bool wait_for_reader(int descriptor);
/// Same for a stream with an empty buffer.
bool wait_for_reader(std::FILE* stream);

/// Lets a run that was asked to stop do so even if nobody reads its output. Safe in signal handlers.
void give_up_blocked_output() noexcept;

/// Escape sequence that erases the current line of a terminal.
inline constexpr const char* erase_line = "\r\x1b[K";

/// Declares the last line of stderr a progress line, which the next message replaces.
void replace_last_line();

/// Prints "lockstep: warning: " and `text`; nothing if `text` is empty.
void print_warning(std::string_view text);
void print_warnings(const std::vector<std::string>& texts);

/// Converts any exception to an Error: out of memory becomes Error(resource), an unknown one Error(internal).
Error as_error(const std::exception_ptr& exception);

/// Failures that do not end a run: printed when they happen, rethrown when the run is over.
class DeferredError {
 public:
  /// Runs `work` and prints its exception as a warning. Returns whether `work` succeeded. `file`: the file
  /// that `work` writes, if a later attempt may write it again; success clears earlier failures of that file.
  bool attempt(const std::function<void()>& work, const std::string& file = {});
  /// Throws the first failure that was not cleared, if any.
  void rethrow() const;

 private:
  std::vector<std::pair<std::string, Error>> failures_;  ///< file and its first failure
};

}  // namespace lockstep
