#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

struct GatherKernels {
  /// Converts `columns` bytes of each of 16 images to [columns][16] floats, value / 255. Reads no bytes
  /// beyond these. Null images yield zeros.
  void (*gather_row)(const std::uint8_t* const* images, int columns, float* output);
  /// Replaces each value in the first `count` lanes of `pixels` blocks with (value - mean) / deviation.
  void (*normalize)(std::size_t pixels, int count, float mean, float deviation, float* values);
  /// Computes values = fma(share, values, (1 - share) * others); `shares` has 16 lanes.
  void (*blend)(std::size_t pixels, const float* shares, const float* others, float* values);
};
LOCKSTEP_KERNEL_TABLE(GatherKernels, gather_kernels)

}  // namespace lockstep::cpu
