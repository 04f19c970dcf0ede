#pragma once

#include "lockstep/shape.h"
#include "ops/pool_axis.h"

namespace lockstep {

/// Both directions of a pooling layer.
struct PoolWindows {
  PoolAxis rows;
  PoolAxis columns;
};

/// The windows of pooling with the options of a layer; those without a kernel are adaptive.
template <class Pool>
PoolWindows pool_windows(const Pool& pool, Shape input, Shape output) {
  PoolAxis axis;
  if constexpr (requires { pool.kernel; }) {
    axis = {.kernel = pool.kernel, .stride = pool.stride, .padding = pool.padding};
  }
  if constexpr (requires { pool.count_include_pad; }) axis.count_padding = pool.count_include_pad;
  PoolWindows windows{axis, axis};
  windows.rows.size = input.height;
  windows.rows.outputs = output.height;
  windows.columns.size = input.width;
  windows.columns.outputs = output.width;
  return windows;
}

}  // namespace lockstep
