#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn.h"

namespace lockstep::cuda {

/// A tensor as a matrix: a row for each pixel of each sample, `stride` padded channels, of which the first
/// `channels` are the network's.
struct ColumnSum {
  std::size_t pixels = 0;
  int stride = 0;
  int channels = 0;
  Type type = Type::fp32;
};

/// What column_sum needs as scratch memory.
std::size_t scratch_bytes(const ColumnSum& problem);

/// sums[channel] = sum over all pixels of values[pixel][channel], in an order of the problem's alone.
void column_sum(StreamHandle stream, const ColumnSum& problem, const void* values, float* sums,
                std::byte* scratch);

}  // namespace lockstep::cuda
