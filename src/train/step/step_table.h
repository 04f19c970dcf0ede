#pragma once

#include <span>
#include <vector>

#include "core/step_state.h"
#include "device/device.h"

namespace lockstep {

/// The steps that a device is handed at once: what they are told goes there, what they found comes back.
class StepTable {
 public:
  /// For up to `steps` steps at once.
  StepTable(Device& device, std::size_t steps);

  /// At the step whose leaves run.
  StepLog log() const;
  /// At the step whose leaves have run, which is concluded and updates: from Backend::conclude on.
  StepLog concluded() const;
  /// Of both, in that order; on the device.
  std::uint32_t* positions() const { return positions_.as<std::uint32_t>(); }
  std::size_t capacity() const { return capacity_; }

  /// Hands over the next steps, at most capacity(), after those before have been fetched.
  void begin(std::span<const StepInput> inputs);
  /// What the steps since begin found, the first `steps` of them; waits for them.
  std::span<const StepOutcome> fetch(std::size_t steps);

 private:
  Device& device_;
  std::size_t capacity_;
  Buffer inputs_, outcomes_, positions_;
  std::vector<StepOutcome> host_outcomes_;
};

}  // namespace lockstep
