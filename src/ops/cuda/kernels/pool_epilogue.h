#pragma once

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Average pooling of window x window pixels at the end of a convolution (GraphNode::Epilogue).
struct PoolEpilogue {
  int samples = 0;
  int channels = 0;  ///< padded
  int height = 0;    ///< after pooling
  int width = 0;
  int window = 1;
  Type type = Type::fp32;
};

void average_pool(StreamHandle stream, const PoolEpilogue& pool, const void* input, void* output);

/// Computes the gradient before pooling. `activated`: output of a ReLU before pooling, which is
/// differentiated too; null: no ReLU. `chunks`: receives the chunk sums of the gradient (column_sum.h); may
/// be null.
void undo_average_pool(StreamHandle stream, const PoolEpilogue& pool, const void* activated,
                       const void* grad_output, void* grad_input, float* chunks);

}  // namespace lockstep::cuda
