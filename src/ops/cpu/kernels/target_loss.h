#pragma once

#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// A loss of ops/target_losses.h: mean over the outputs, summed over the samples. If samples are mixed, the
/// target is fma(share, own target, (1 - share) * partner's target); the partner of sample i is sample
/// samples - 1 - i.
struct TargetLossTask {
  int samples;
  int outputs;
  const float* logits;   ///< [group][output][16]
  const float* targets;  ///< [sample][output]
  const float* shares;   ///< [sample]; null: samples are not mixed
  float* grad;           ///< in the logits' layout; may be null
  double loss;           ///< result
  std::uint64_t right;   ///< result: number of outputs, over all samples, that predict their target
  // Results: sums over the outputs of all samples.
  double absolute_error;
  double target;
  double squared_target;
};

struct TargetLossKernels {
  void (*squared_error)(TargetLossTask&);
  void (*binary_cross_entropy)(TargetLossTask&);
};
LOCKSTEP_KERNEL_TABLE(TargetLossKernels, target_loss_kernels)

}  // namespace lockstep::cpu
