#pragma once

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/plan.h"

namespace lockstep::cuda {

/// A loss of ops/target_losses.h on [sample][padded output]: mean over the outputs, summed over the samples.
/// If samples are mixed, the target is fma(share, own, (1 - share) * that of the partner), the sample from
/// the end of the micro-batch.
struct TargetLossTask {
  Type type;
  int samples;
  int outputs;
  const void* logits;
  void* grad;            ///< may be null
  const float* targets;  ///< [sample][output]
  const float* shares;   ///< [sample]; null: samples are not mixed
  LeafResult* result;
};

void squared_error(StreamHandle stream, const TargetLossTask& task);
void binary_cross_entropy(StreamHandle stream, const TargetLossTask& task);

}  // namespace lockstep::cuda
