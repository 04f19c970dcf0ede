#pragma once

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/op_memory.h"

namespace lockstep::cuda {

/// A loss of ops/target_losses.h on [sample][padded output]: mean over the outputs, summed over the samples.
/// If samples are mixed, the target is fma(share, own, (1 - share) * partner's), where the partner of sample
/// i is sample (samples - 1 - i).
struct TargetLossTask : LossTensors<void> {
  Type type;
  int outputs;
};

void squared_error(StreamHandle stream, const TargetLossTask& task);
void binary_cross_entropy(StreamHandle stream, const TargetLossTask& task);

}  // namespace lockstep::cuda
