#pragma once

#include <functional>
#include <optional>

#include "lockstep/error.h"

namespace lockstep {

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
