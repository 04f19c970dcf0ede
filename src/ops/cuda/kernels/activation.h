#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "lockstep/network.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Whether activation_backward reads the output of forward, not its input.
constexpr bool backward_reads_value(Activation::Kind kind) {
  return kind == Activation::Kind::relu || kind == Activation::Kind::relu6;
}

/// Computes `packs` packs (pack.h) in float, with the bits of the CPU. Keeps zeros, and thereby
/// padding.
void activation_forward(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs,
                        const void* input, void* output);
void activation_backward(StreamHandle stream, Type type, Activation::Kind kind, std::size_t packs,
                         const void* input_or_output, const void* grad_output, void* grad_input);

}  // namespace lockstep::cuda
