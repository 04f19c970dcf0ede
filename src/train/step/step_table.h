#pragma once

#include <span>
#include <vector>

#include "core/step_state.h"
#include "device/device.h"

namespace lockstep {

/// Table of the steps submitted together, in device memory: their inputs and their outcomes.
class StepTable {
 public:
  /// Table for up to `steps` steps. `stops`: whether a step whose loss, or the norm of whose gradient, is not
  /// finite prevents the updates of all later ones.
  StepTable(Device& device, std::size_t steps, bool stops = true);

  /// Log at the step whose leaves are running.
  StepLog log() const;
  /// Log at the step that Backend::conclude has concluded, which updates the parameters.
  StepLog concluded() const;
  /// Positions of log() and concluded(), in this order; in device memory.
  std::uint32_t* positions() const { return positions_.as<std::uint32_t>(); }
  std::size_t capacity() const { return capacity_; }
  bool stops() const { return stops_; }

  /// Submits the inputs of the next steps, at most capacity(), after the outcomes of the previous ones were
  /// fetched.
  void begin(std::span<const StepInput> inputs);
  /// Waits for the steps, and returns the outcomes of the first `steps` of them since begin.
  std::span<const StepOutcome> fetch(std::size_t steps);

 private:
  Device& device_;
  std::size_t capacity_;
  bool stops_;
  Buffer inputs_, outcomes_, positions_;
  std::vector<StepOutcome> host_outcomes_;
};

}  // namespace lockstep
