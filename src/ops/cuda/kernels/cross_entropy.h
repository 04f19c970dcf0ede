#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/op_memory.h"

namespace lockstep::cuda {

/// Softmax and cross-entropy of [sample][padded class]; see plan_loss. Samples with negative labels
/// are missing: they have no loss and zero gradients, and are not counted. Predictions may be null.
struct CrossEntropyTask : LossTensors<void> {
  Type type;
  int classes;
  float smoothing;  ///< share of every target that is spread evenly over the classes (Szegedy et al., 2016)
};

std::size_t cross_entropy_scratch(int samples, int classes);
void cross_entropy(StreamHandle stream, const CrossEntropyTask& task);

}  // namespace lockstep::cuda
