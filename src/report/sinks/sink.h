#pragma once

#include "report/events.h"

namespace lockstep {

/// A place that events go to. Calls come from one thread. They may throw Error(resource) when the place
/// fails (disk full).
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void on_step(const StepEvent& event) = 0;
  virtual void on_epoch(const EpochEvent& event) = 0;
  virtual void on_end(const EndEvent& event) = 0;
  /// What was reported so far is where it belongs when this returns.
  virtual void flush() = 0;
};

}  // namespace lockstep
