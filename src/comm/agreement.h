#pragma once

#include <exception>

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

/// Any exception as an Error: out of memory is a missing resource, an unknown one a defect.
Error as_error(const std::exception_ptr& exception);

}  // namespace lockstep
