#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/kernels.h"

/// The functions behind one instruction set's table, one file each; see Kernels for their contracts.
namespace lockstep::cpu::LOCKSTEP_LEVEL {

void conv_forward(const ConvForward& task);
std::size_t conv_forward_scratch(const ConvGeometry& geometry, const PoolEpilogue& epilogue);
void conv_backward_data(const ConvBackwardData& task);
void conv_backward_weights(const ConvBackwardWeights& task);
std::size_t conv_backward_weights_scratch(const ConvGeometry& geometry, const PoolEpilogue& epilogue,
                                          bool expand);
void expand(const Expand& task);
void pack_weights(const PackWeights& task);
void blocked_conv(const BlockedConv& task);
void blocked_conv_weights(const BlockedConvWeights& task);
std::size_t blocked_conv_weights_scratch(int lane_channels);
void unpack_weight_sums(const UnpackWeightSums& task);
void depthwise_conv(const DepthwiseConv& task);
void depthwise_conv_weights(const DepthwiseConvWeights& task);
void bias_gradient(const BiasGradient& task);
void linear_forward(const LinearTask& task);
void linear_backward_data(const LinearTask& task);
void linear_backward_weights(const LinearTask& task);
std::size_t linear_scratch(int inputs, int samples);
void avg_pool_forward(const PoolTask& task, const float* input, float* output);
void avg_pool_backward(const PoolTask& task, const float* grad_output, float* grad_input);
void max_pool_forward(const PoolTask& task, const float* input, float* output);
void max_pool_backward(const PoolTask& task, const float* input, const float* grad_output, float* grad_input);
void batch_norm_forward(const BatchNormForward& task);
void batch_norm_backward(const BatchNormBackward& task);
void activate(ActivationKind kind, std::size_t count, const float* input, float* output);
void activate_backward(ActivationKind kind, std::size_t count, const float* input, const float* grad_output,
                       float* grad_input);
void relu(std::size_t count, const float* input, float* output, std::uint16_t* masks);
void add(std::size_t count, const float* a, const float* b, float* output);
void select(std::size_t count, float scale, const std::uint16_t* masks, const float* input, float* output);
void cross_entropy(CrossEntropyTask& task);
void gather_row(const std::uint8_t* const* images, int columns, float* output);
void normalize(std::size_t count, int samples, float mean, float deviation, float* values);
void blend(std::size_t count, const float* shares, const float* others, float* values);
void winograd_conv(const WinogradConv& task);
void winograd_backward_weights(const WinogradBackwardWeights& task);
std::size_t winograd_conv_scratch(const WinogradShape& shape, const WinogradBlocks& blocks);
std::size_t winograd_backward_weights_scratch(const WinogradShape& shape, const WinogradBlocks& blocks);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
