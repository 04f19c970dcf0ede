#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/plan.h"

namespace lockstep::cuda {

/// Softmax and cross-entropy of [sample][padded class]; see plan_loss. Samples with negative labels
/// are missing: they have no loss and zero gradients, and are not counted.
struct CrossEntropyTask {
  Type type;
  int samples;
  int classes;
  float smoothing;
  const void* logits;
  void* grad;  ///< may be null
  const std::int32_t* labels;
  const std::int32_t* partner_labels;  ///< null: samples are not mixed
  const float* shares;
  std::int32_t* predictions;  ///< may be null
  LeafResult* result;
  std::byte* scratch;
};

std::size_t cross_entropy_scratch(int samples, int classes);
void cross_entropy(StreamHandle stream, const CrossEntropyTask& task);

}  // namespace lockstep::cuda
