#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "comm/communicator.h"
#include "lockstep/error.h"

namespace lockstep {

/// Error that every rank knows of (World::agree): all ranks are unwinding, and none has to be stopped.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// Error that the other ranks throw if a rank has failed; that rank prints the reason.
class PeerFailure : public AgreedError {
 public:
  using AgreedError::AgreedError;
};

/// Outcome, on this rank, of work that all ranks do, to be compared with the others'.
class Outcome {
 public:
  /// Calls `work` and keeps its exception.
  Outcome(const std::function<void()>& work, int rank);
  /// The outcome as a number. The smallest one of all ranks decides for all: a failure is smaller than none.
  std::int64_t code() const { return code_; }
  /// Returns if no rank failed; otherwise throws as World::agree does. `smallest`: the smallest code of all
  /// ranks. `ranks`: their number; a rank alone throws an Error that is no AgreedError, as this world may be
  /// World::alone(), and the ranks of the whole world do not know of it.
  void settle(std::int64_t smallest, int ranks) const;

 private:
  std::optional<Error> own_;
  bool repeated_ = false;
  std::int64_t code_;
};

/// Same as World::agree, for the ranks of a communicator for host memory. Collective.
void agree(Communicator& communicator, const std::function<void()>& work);

}  // namespace lockstep
