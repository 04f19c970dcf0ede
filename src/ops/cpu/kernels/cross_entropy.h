#pragma once

#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Target of a sample: (1 - smoothing) (share * its label + (1 - share) * the other) + smoothing / classes.
struct CrossEntropyTask {
  int groups;
  int classes;
  float smoothing;
  const float* logits;                 ///< [group][class][16]
  const std::int32_t* labels;          ///< [group][16], -1: no sample
  const std::int32_t* partner_labels;  ///< null: share is 1
  const float* shares;                 ///< null with partner_labels
  float* grad;                         ///< null, or of the logits' shape
  std::int32_t* predictions;  ///< null, or [group][16]: class of the largest logit, the lowest of equals
  double loss;                ///< result
  std::uint64_t correct;      ///< result
  std::uint64_t correct5;     ///< result: fewer than 5 logits are above that of the label
};

struct CrossEntropyKernels {
  void (*run)(CrossEntropyTask&);
};
LOCKSTEP_KERNEL_TABLE(CrossEntropyKernels, cross_entropy_kernels)

}  // namespace lockstep::cpu
