#pragma once

#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Target of a sample: (1 - smoothing) (share * label + (1 - share) * partner label) + smoothing / classes.
struct CrossEntropyTask {
  int groups;
  int classes;
  float smoothing;
  const float* logits;                 ///< [group][class][16]
  const std::int32_t* labels;          ///< [group][16]; -1: missing sample
  const std::int32_t* partner_labels;  ///< null: every share is 1
  const float* shares;                 ///< null if partner_labels is null
  float* grad;                         ///< in the logits' layout; may be null
  std::int32_t* predictions;           ///< [group][16]: first class with the largest logit; may be null
  double loss;                         ///< result
  std::uint64_t correct;               ///< result
  std::uint64_t correct5;  ///< result: samples whose label is among the 5 classes with the largest logits
};

struct CrossEntropyKernels {
  void (*run)(CrossEntropyTask&);
};
LOCKSTEP_KERNEL_TABLE(CrossEntropyKernels, cross_entropy_kernels)

}  // namespace lockstep::cpu
