#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// Benchmarks, each bound by a single limit of a thread.
struct LimitKernels {
  /// Runs `rounds` multiply-adds on each of as many independent sums as the registers hold. `sums`: 16
  /// floats, read as start values, then overwritten with results. Returns the number of floating-point
  /// operations.
  double (*multiply_add)(std::int64_t rounds, float* sums);
  /// a = b + 0.5 * c for `pixels` blocks of 16 floats: the triad of STREAM (McCalpin, 1995).
  void (*triad)(std::size_t pixels, float* a, const float* b, const float* c);
};
LOCKSTEP_KERNEL_TABLE(LimitKernels, limit_kernels)

}  // namespace lockstep::cpu
