#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "lockstep/error.h"

namespace lockstep {

/// Writes `text` as one line to stderr, in a single call, so that lines of several threads do not mix.
/// Control characters, which file names may contain, become question marks. Ignores errors.
void print_message(std::string_view text);

/// Tells that stderr ends with a line that the next message replaces: a progress line.
void replace_last_line();

/// Prints "lockstep: warning: " and `text`; nothing if `text` is empty.
void print_warning(std::string_view text);

/// Failures that do not end a run: printed when they happen, thrown when the run is over.
class DeferredError {
 public:
  /// Runs `work` and prints its exception as a warning. Returns whether it succeeded.
  bool attempt(const std::function<void()>& work);
  /// Throws the first failure, if any.
  void rethrow() const;

 private:
  std::optional<Error> first_;
};

}  // namespace lockstep
