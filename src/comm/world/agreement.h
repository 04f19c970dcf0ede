#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "comm/communicator.h"
#include "lockstep/error.h"

namespace lockstep {

/// Error that every rank knows of (World::agree): all ranks are unwinding, so no rank needs to be stopped.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Error that a rank throws because another rank has failed; the failed rank prints the reason.
class PeerFailure : public AgreedError {
 public:
  using AgreedError::AgreedError;
};

/// This rank's outcome of work that all ranks do, to be compared with the other ranks' outcomes.
class Outcome {
 public:
  /// Calls `work` and keeps its exception.
  Outcome(const std::function<void()>& work, int rank);
  /// The outcome as a number. The smallest one of all ranks decides for all: a failure is smaller than none.
  std::int64_t code() const { return code_; }
  /// Returns if no rank failed; otherwise throws as World::agree does. `smallest`: the smallest code of all
  /// ranks. `ranks`: number of ranks; a single rank throws an Error that is no AgreedError: its world may be
  /// World::alone(), and then the other ranks of the whole world do not know of the error.
  void settle(std::int64_t smallest, int ranks) const;

 private:
  std::optional<Error> own_;
  bool repeated_ = false;
  std::int64_t code_;
};

/// Same as World::agree, for the ranks of a communicator for host memory. Collective.
void agree(Communicator& communicator, const std::function<void()>& work);

}  // namespace lockstep
