#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/step_state.h"
#include "device/device.h"

namespace lockstep {

/// Table of the steps submitted together, in device memory: their inputs and their outcomes.
class StepTable {
 public:
  /// Table for up to `steps` steps. `stops`: whether a step whose loss or gradient norm is not finite
  /// prevents the updates of all later steps.
  StepTable(Device& device, std::size_t steps, bool stops = true);
  StepTable(const StepTable&) = delete;
  StepTable& operator=(const StepTable&) = delete;

  /// Log at the step whose leaves are running.
  StepLog log() const;
  /// Log at the step that Backend::conclude handled last; the update of the parameters reads it.
  StepLog concluded() const;
  /// Positions of log() and concluded(), in this order; in device memory.
  std::uint32_t* positions() const;
  std::size_t capacity() const { return capacity_; }
  bool stops() const { return stops_; }

  /// Submits the inputs of the next steps, at most capacity(). Waits only for steps that were not fetched.
  void begin(std::span<const StepInput> inputs);
  /// Waits for the steps and returns the outcomes of the first `steps` steps since begin; valid until further
  /// steps are run.
  std::span<const StepOutcome> fetch(std::size_t steps);

 private:
  std::size_t positions_at() const { return capacity_ * sizeof(StepInput); }
  std::size_t outcomes_at() const { return positions_at() + 2 * sizeof(std::uint32_t); }
  std::uint32_t* positions(const Buffer& block) const {
    return reinterpret_cast<std::uint32_t*>(block.data() + positions_at());
  }
  StepOutcome* outcomes(const Buffer& block) const {
    return reinterpret_cast<StepOutcome*>(block.data() + outcomes_at());
  }

  Device& device_;
  std::size_t capacity_;
  bool stops_;
  Buffer block_;       ///< inputs, both positions, outcomes
  Buffer host_block_;  ///< mirror of block_ in host memory
  /// Programs that copy inputs and positions to the device, and outcomes back; null if both blocks are the
  /// same memory.
  std::unique_ptr<Program> send_, fetch_;
  bool in_progress_ = false;  ///< whether steps were submitted and not fetched
};

}  // namespace lockstep
