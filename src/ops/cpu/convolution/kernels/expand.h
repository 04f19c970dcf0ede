#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/kernels/table.h"

namespace lockstep::cpu {

/// ReLU (optional), then the average of window x window pixels with stride `window`; 1: none.
struct PoolEpilogue {
  bool relu;
  int window;
};

/// Undoes an epilogue for some channels and rows: gradient before ReLU and pooling from the one after.
struct Expand {
  PoolEpilogue epilogue;
  int channels;
  int rows;                ///< before pooling, a multiple of the window
  int columns;             ///< before pooling, a multiple of the window
  const float* grad;       ///< [channel][rows / window][columns / window][16]
  std::size_t grad_plane;  ///< floats from channel to channel
  const std::uint16_t* masks;
  std::size_t mask_plane;
  float* output;  ///< [channel][rows][columns][16]
  std::size_t output_plane;
};

struct ExpandKernels {
  void (*expand)(const Expand&);
};
LOCKSTEP_KERNEL_TABLE(ExpandKernels, expand_kernels)

#ifdef LOCKSTEP_LEVEL
namespace LOCKSTEP_LEVEL {
/// For kernels that expand as they go.
void expand(const Expand& task);
}  // namespace LOCKSTEP_LEVEL
#endif

}  // namespace lockstep::cpu
