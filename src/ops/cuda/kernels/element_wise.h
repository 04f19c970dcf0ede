#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "lockstep/network.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/cuda/kernels/parameters/column_sum.h"

/// Element-wise kernels. `packs`: number of elements / channel_unit. All addresses are device addresses.
/// Outputs may overwrite inputs in place.
namespace lockstep::cuda {

/// Computes sum = a + b.
void add(StreamHandle stream, Type type, std::size_t packs, const void* a, const void* b, void* sum);
void copy(StreamHandle stream, Type type, std::size_t packs, const void* from, void* to);
/// Gradient before a ReLU: the gradient after the ReLU, or zero where the ReLU's output is 0.
struct ReluGradient {
  ColumnSum tensor;  ///< sizes of the tensors
  const void* output = nullptr;
  const void* grad_output = nullptr;
  const void* more_grad_output = nullptr;  ///< added to grad_output; may be null
  void* grad_input = nullptr;
  float* chunks = nullptr;  ///< receives the chunk sums of grad_input (column_sum.h); may be null
};
void undo_relu(StreamHandle stream, const ReluGradient& task);

/// Whether activate_backward reads the output of activate instead of its input.
constexpr bool backward_reads_value(Activation::Kind kind) {
  return kind == Activation::Kind::relu || kind == Activation::Kind::relu6;
}
/// Computes in float, with the same bits as on the CPU. Zeros stay zero, so padding does, too.
void activate(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs, const void* input,
              void* output);
void activate_backward(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs,
                       const void* input_or_output, const void* grad_output, void* grad_input);

}  // namespace lockstep::cuda
