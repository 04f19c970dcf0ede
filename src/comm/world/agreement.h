#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "comm/communicator.h"
#include "lockstep/error.h"

namespace lockstep {

/// An error that every rank knows of (World::agree): all ranks are unwinding, none has to be stopped.
class AgreedError : public Error {
 public:
  using Error::Error;
};

/// What the other ranks throw when one rank failed; that rank prints the reason.
class PeerFailure : public AgreedError {
 public:
  using AgreedError::AgreedError;
};

/// How this rank fared with work that all ranks do, to be compared with the others.
class Outcome {
 public:
  /// Calls `work` and keeps what it throws.
  Outcome(const std::function<void()>& work, int rank);
  /// The smallest of all ranks' codes tells what happened.
  std::int64_t code() const { return code_; }
  /// Returns where no rank failed; else throws what World::agree says.
  void settle(std::int64_t smallest) const;

 private:
  std::optional<Error> own_;
  bool repeated_ = false;
  std::int64_t code_;
};

/// World::agree for the ranks of a communicator for memory of the host. Collective.
void agree(Communicator& communicator, const std::function<void()>& work);

/// Any exception as an Error: out of memory is a missing resource, an unknown one a defect.
Error as_error(const std::exception_ptr& exception);

}  // namespace lockstep
