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

/// Waits until a descriptor can take 4096 bytes without blocking. Returns false if that takes 3 s after
/// give_up_blocked_output: what reads it, such as a pager, may never do so.
bool wait_for_reader(int descriptor);
/// Same for a stream of which nothing is buffered.
bool wait_for_reader(std::FILE* stream);

/// Lets a run that has been asked to stop do so although nobody reads its output. Safe in signal handlers.
void give_up_blocked_output() noexcept;

/// Returns to the beginning of a terminal's line and erases it.
inline constexpr const char* erase_line = "\r\x1b[K";

/// Declares the last line of stderr a progress line, which the next message replaces.
void replace_last_line();

/// Prints "lockstep: warning: " and `text`; nothing if `text` is empty.
void print_warning(std::string_view text);
void print_warnings(const std::vector<std::string>& texts);

/// Converts any exception to an Error: out of memory becomes Error(resource), an unknown one Error(internal).
Error as_error(const std::exception_ptr& exception);

/// Failures that do not end a run: printed when they happen, thrown when the run is over.
class DeferredError {
 public:
  /// Runs `work` and prints its exception as a warning. Returns whether it succeeded. `file`: what it writes,
  /// if a later attempt may write it again; a success undoes earlier failures with the same file.
  bool attempt(const std::function<void()>& work, const std::string& file = {});
  /// Throws the first failure that is not undone, if any.
  void rethrow() const;

 private:
  std::vector<std::pair<std::string, Error>> failures_;  ///< the first one of each file
};

}  // namespace lockstep
