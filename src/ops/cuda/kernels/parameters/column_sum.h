#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Sums over all pixels of all samples, channel by channel, of a tensor as a matrix: a row for each pixel,
/// `channels` padded channels. In two steps, each with an order of the problem's alone: kernels that read the
/// tensor add up chunks of pixels, and GradientFinish (finish_gradients.h) adds the chunks.
struct ColumnSum {
  std::size_t pixels = 0;
  int channels = 0;
  Type type = Type::fp32;
};

std::size_t pixels_of_chunk(const ColumnSum& problem);
std::size_t chunks_of(const ColumnSum& problem);
/// Size of the chunks' sums: [chunk][channel], float.
std::size_t chunk_bytes(const ColumnSum& problem);

/// The chunks' sums of a tensor that no other kernel has to read.
void sum_chunks(StreamHandle stream, const ColumnSum& problem, const void* values, float* chunks);

}  // namespace lockstep::cuda
