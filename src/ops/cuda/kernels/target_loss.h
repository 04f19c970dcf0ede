#pragma once

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/op_memory.h"

namespace lockstep::cuda {

/// A loss of ops/target_losses.h on [sample][padded output]: mean over the outputs, summed over the samples.
/// If samples are mixed, the target is fma(share, own, (1 - share) * that of the partner), the sample from
/// the end of the micro-batch.
struct TargetLossTask : LossTensors<void> {
  Type type;
  int outputs;
};

void squared_error(StreamHandle stream, const TargetLossTask& task);
void binary_cross_entropy(StreamHandle stream, const TargetLossTask& task);

}  // namespace lockstep::cuda
