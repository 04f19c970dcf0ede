#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Conversions between floats and bf16, rounding to nearest, ties to even. Arrays of floats are aligned to a
/// vector unless stated otherwise.
struct ConversionKernels {
  void (*widen)(std::size_t pixels, const Bfloat16* from, float* to);  ///< blocks of 16 images
  void (*round)(std::size_t pixels, const float* from, Bfloat16* to);  ///< blocks of 16 images
  /// Rounds floats to bf16 and stores the results as floats; any number and alignment.
  void (*round_floats)(std::size_t count, const float* from, float* to);
};
LOCKSTEP_KERNEL_TABLE(ConversionKernels, conversion_kernels)

}  // namespace lockstep::cpu
