#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"
#include "ops/dropout_rule.h"

namespace lockstep::cuda {

/// Dropout of [sample][row][column][channel].
struct DropoutTask {
  Type type;
  DropoutRule rule;
  int samples;
  int channels;  ///< not padded
  int pixels;    ///< of an image
};

/// Size of `masks`: a bit per channel.
std::size_t dropout_mask_bytes(const DropoutTask& task);
/// `masks`: written; `ids`: of the samples. Which elements are dropped is the same as on the CPU.
void dropout_forward(StreamHandle stream, const DropoutTask& task, const RandomKey* random,
                     const std::uint64_t* ids, const void* input, void* output, std::uint8_t* masks);
void dropout_backward(StreamHandle stream, const DropoutTask& task, const std::uint8_t* masks,
                      const void* grad_output, void* grad_input);

}  // namespace lockstep::cuda
