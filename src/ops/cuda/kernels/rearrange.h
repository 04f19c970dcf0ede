#pragma once

#include <array>

#include "device/cuda/stream_handle.h"
#include "lockstep/network.h"
#include "ops/cuda/dnn/dnn.h"

/// Kernels that move elements unchanged. All addresses are device addresses of tensors with padded channels.
/// Kernels write the padding, too.
namespace lockstep::cuda {

/// Converts an image to one pixel whose channels are [channel][row][column].
void flatten(StreamHandle stream, Type type, int samples, const Shape& image, const void* input,
             void* output);
void undo_flatten(StreamHandle stream, Type type, int samples, const Shape& image, const void* grad_output,
                  void* grad_input);

/// Concatenation of the channels of up to max_inputs tensors.
struct ConcatTask {
  Type type = Type::fp32;
  std::size_t pixels = 0;  ///< of all samples
  int count = 0;           ///< number of inputs
  std::array<int, max_inputs> channels{};
};
void concatenate(StreamHandle stream, const ConcatTask& task,
                 const std::array<const void*, max_inputs>& inputs, void* output);
/// Splits a gradient into the gradients of the inputs. Skips inputs whose address is null.
void undo_concatenate(StreamHandle stream, const ConcatTask& task, const void* grad_output,
                      const std::array<void*, max_inputs>& grad_inputs);

}  // namespace lockstep::cuda
