#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Whether each channel is convolved with one kernel of its own.
bool is_depthwise(const ConvProblem& problem);

/// Depthwise convolutions. Tensors are those of ConvProblem, of its type; products and sums are float with
/// each type, so that tf32 is as exact as fp32. `workspace`: memory of the size that the function before
/// returns, aligned to 256 bytes; nothing in it is kept.
std::size_t depthwise_forward_workspace(const ConvProblem& problem);
/// `bias`: [channel]; null: none. `relu`: max(0, .) at the end.
void depthwise_forward(StreamHandle stream, const ConvProblem& problem, const void* input, const void* weight,
                       const void* bias, bool relu, void* output, void* workspace);

std::size_t depthwise_backward_data_workspace(const ConvProblem& problem);
/// Writes all of `grad_input`.
void depthwise_backward_data(StreamHandle stream, const ConvProblem& problem, const void* grad_output,
                             const void* weight, void* grad_input, void* workspace);

std::size_t depthwise_backward_weights_workspace(const ConvProblem& problem);
/// Overwrites `grad_weight`.
void depthwise_backward_weights(StreamHandle stream, const ConvProblem& problem, const void* input,
                                const void* grad_output, void* grad_weight, void* workspace);

}  // namespace lockstep::cuda
