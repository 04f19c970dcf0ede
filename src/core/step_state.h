#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace lockstep {

/// What the work of one step is told: written by the host before the step, to the memory of the device.
struct StepInput {
  std::uint64_t number = 1;   ///< of the step, from 1 over the whole run
  std::uint64_t first = 0;    ///< position in the epoch of its first sample
  std::uint64_t samples = 0;  ///< of all ranks
  std::uint32_t epoch = 0;    ///< from 0
  float learning_rate = 0.0F;
};

/// What a step found: written by its own work, read by the host when it wants to know, steps later perhaps.
struct StepOutcome {
  double loss = 0.0;             ///< sum over the samples, before the update
  std::uint64_t correct = 0;     ///< as in LeafResult
  std::uint64_t correct5 = 0;    ///< as in LeafResult
  std::uint64_t samples = 0;     ///< really computed, on all ranks
  double gradient_norm = 0.0;    ///< 0 when it is not wanted
  float gradient_scale = 0.0F;   ///< that the sum of the gradients is multiplied by: 1 / samples, clipped
  float statistic_scale = 0.0F;  ///< the same for running statistics: 1 / samples
  std::uint32_t updates = 0;     ///< whether the parameters change: not after a loss that is not finite
};

/// The steps that a device was handed at once, and which of them is in progress; in the device's memory.
struct StepLog {
  const StepInput* inputs = nullptr;
  StepOutcome* outcomes = nullptr;
  const std::uint32_t* position = nullptr;

  LOCKSTEP_HD const StepInput& input() const { return inputs[*position]; }
  LOCKSTEP_HD StepOutcome& outcome() const { return outcomes[*position]; }
};

}  // namespace lockstep
