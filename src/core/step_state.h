#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace lockstep {

/// Inputs of a step, which the host writes to the device's memory before the step.
struct StepInput {
  std::uint64_t number = 1;   ///< number of the step, from 1 over the whole run
  std::uint64_t first = 0;    ///< position of its first sample in the epoch
  std::uint64_t samples = 0;  ///< on all ranks
  std::uint32_t epoch = 0;    ///< from 0
  float learning_rate = 0.0F;
};

/// Outcome of a step, which its work writes to the device's memory; the host may read it some steps later.
struct StepOutcome {
  double loss = 0.0;             ///< sum over the samples, before the update
  std::uint64_t correct = 0;     ///< as in LeafResult
  std::uint64_t correct5 = 0;    ///< as in LeafResult
  std::uint64_t samples = 0;     ///< computed on all ranks, without skipped samples
  double gradient_norm = 0.0;    ///< 0: not requested
  float gradient_scale = 0.0F;   ///< factor of the sum of gradients: 1 / samples, times that of clipping
  float statistic_scale = 0.0F;  ///< factor of the sums of observed statistics: 1 / samples
  std::uint32_t updates = 0;     ///< whether parameters change; 0 if the loss or a clipped norm is not finite
};

/// Steps submitted together, and the position of the current step; device addresses.
struct StepLog {
  const StepInput* inputs = nullptr;
  StepOutcome* outcomes = nullptr;
  const std::uint32_t* position = nullptr;

  LOCKSTEP_HD const StepInput& input() const { return inputs[*position]; }
  LOCKSTEP_HD StepOutcome& outcome() const { return outcomes[*position]; }
};

}  // namespace lockstep
