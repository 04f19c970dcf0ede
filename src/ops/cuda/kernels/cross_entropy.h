#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/plan.h"

namespace lockstep::cuda {

/// Softmax and cross-entropy of [sample][padded class], see plan_cross_entropy. A sample with a negative
/// label is missing: it has no loss and no gradient, and is not counted.
struct CrossEntropyTask {
  Type type;
  int samples;
  int classes;
  float smoothing;
  const void* logits;
  void* grad;  ///< may be null
  const std::int32_t* labels;
  const std::int32_t* partner_labels;  ///< null: not mixed
  const float* shares;
  std::int32_t* predictions;  ///< may be null
  LeafResult* result;
  std::byte* scratch;
};

std::size_t cross_entropy_scratch(int samples, int classes);
void cross_entropy(StreamHandle stream, const CrossEntropyTask& task);

}  // namespace lockstep::cuda
