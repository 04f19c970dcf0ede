#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/dropout_rule.h"

namespace lockstep::cuda {

/// Dropout of [sample][row][column][padded channel].
struct DropoutTask {
  Type type;
  DropoutRule rule;
  int samples;
  int channels;  ///< not padded
  int pixels;    ///< of an image
};

/// Size of `masks` in bytes: one bit per element.
std::size_t dropout_mask_bytes(const DropoutTask& task);
/// Drops the same elements as the CPU. Writes `masks`. `ids`: IDs of the samples.
void dropout_forward(StreamHandle stream, const DropoutTask& task, const RandomKey* random,
                     const std::uint64_t* ids, const void* input, void* output, std::uint8_t* masks);
void dropout_backward(StreamHandle stream, const DropoutTask& task, const std::uint8_t* masks,
                      const void* grad_output, void* grad_input);

}  // namespace lockstep::cuda
