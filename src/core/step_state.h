#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace lockstep {

/// Inputs of a step, which the host writes to the device's memory before the step.
struct StepInput {
  std::uint64_t number = 1;   ///< number of the step, from 1 over the whole run
  std::uint64_t first = 0;    ///< position of the step's first sample in the epoch
  std::uint64_t samples = 0;  ///< number of samples on all ranks
  std::uint32_t epoch = 0;    ///< from 0
  float learning_rate = 0.0F;
};

/// Sums over samples, from which the loss and the metrics of a task are computed. The cross-entropy kernel on
/// GPUs initialises the first four by position.
struct LossSums {
  double loss = 0.0;
  /// Classification: samples whose largest logit (the first, if several are equal) is that of their class.
  /// Multilabel: labels of all samples that are predicted correctly, as applying if the logit is above 0.
  std::uint64_t correct = 0;
  std::uint64_t correct5 = 0;  ///< classification: samples with fewer than 5 logits above their class's logit
  std::uint64_t samples = 0;   ///< computed samples, without skipped ones
  // Tasks with numeric targets: sums over the outputs of all samples, in standardised units.
  double absolute_error = 0.0;
  double target = 0.0;
  double squared_target = 0.0;

  LOCKSTEP_HD LossSums& operator+=(const LossSums& other) {
    loss += other.loss;
    correct += other.correct;
    correct5 += other.correct5;
    samples += other.samples;
    absolute_error += other.absolute_error;
    target += other.target;
    squared_target += other.squared_target;
    return *this;
  }
};

/// Outcome of a step. The step writes it to the device's memory; the host may read it some steps later. The
/// sums are over all ranks, before the update.
struct StepOutcome : LossSums {
  double gradient_norm = 0.0;   ///< 0: not requested
  float gradient_scale = 0.0F;  ///< factor of the sum of gradients: 1 / samples, times the factor of clipping
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
