#pragma once

#include <initializer_list>
#include <vector>

#include "processes/descriptor.h"

namespace lockstep::launcher {

/// Signals that arrive at a descriptor instead of interrupting: this thread, and those that it makes, block
/// them. A signal that was ignored before, as by nohup, stays ignored.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> signals);

  /// Descriptor that can be read when a signal has arrived.
  int descriptor() const { return descriptor_.get(); }
  /// Signals that have arrived since the last call.
  std::vector<int> take() const;

 private:
  Descriptor descriptor_;
};

}  // namespace lockstep::launcher
