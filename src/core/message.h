#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "lockstep/error.h"

namespace lockstep {

/// Writes `text` and a line end to stderr, at once, so that lines of several threads do not mix. Control
/// characters, which names of files may hold, become question marks. Never throws: no run ends because nobody
/// listens.
void print_message(std::string_view text);

/// The same with "lockstep: warning: " before it; nothing where `text` is empty.
void print_warning(std::string_view text);

/// Failures of work that a run can go on without: told when they happen, thrown when the run is over.
class DeferredError {
 public:
  /// Whether `work` succeeded. What it throws becomes a warning on stderr.
  bool attempt(const std::function<void()>& work);
  /// Throws the first failure; returns where there was none.
  void rethrow() const;

 private:
  std::optional<Error> first_;
};

}  // namespace lockstep
