#pragma once

#include "lockstep/reports.h"

namespace lockstep {

/// Destination of a run's events. All calls come from one thread. They may throw Error(resource), for example
/// when the disk is full.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_event(const RunEvent& event) = 0;
  /// Writes everything that was reported so far.
  virtual void flush() {}
};

}  // namespace lockstep
