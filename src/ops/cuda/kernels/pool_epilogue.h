#pragma once

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// The average of window x window pixels that a convolution ends with (GraphNode::Epilogue).
struct PoolEpilogue {
  int samples = 0;
  int channels = 0;  ///< padded
  int height = 0;    ///< after pooling
  int width = 0;
  int window = 1;
  Type type = Type::fp32;
};

void average_pool(StreamHandle stream, const PoolEpilogue& pool, const void* input, void* output);

/// The gradient before pooling and, where `activated` is not null, before the ReLU whose output it is; unless
/// `chunks` is null, also the sums of that gradient's chunks (column_sum.h).
void undo_average_pool(StreamHandle stream, const PoolEpilogue& pool, const void* activated,
                       const void* grad_output, void* grad_input, float* chunks);

}  // namespace lockstep::cuda
