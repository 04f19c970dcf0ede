#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "graph/pool_range.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Windows of a pooling layer along one dimension.
struct PoolAxis {
  int size = 0;     ///< size of the input
  int outputs = 0;  ///< number of windows
  int kernel = 0;   ///< 0: adaptive
  int stride = 1;
  int padding = 0;
  bool count_padding = false;

  LOCKSTEP_HD PoolRange window(int output) const {
    if (kernel == 0) {  // as in PyTorch: from floor(i size / outputs) to ceil((i + 1) size / outputs)
      const int begin = floor_of(output, size, outputs);
      const int end = ceil_of(output + 1, size, outputs);
      return {begin, end, end - begin};
    }
    const int first = output * stride - padding;
    const int last = smaller(first + kernel, size + padding);
    const int begin = first > 0 ? first : 0;
    const int end = smaller(last, size);
    return {begin, end, count_padding ? last - first : end - begin};
  }

  /// Windows [begin, end) that contain a position of the input; may be empty. `count` is unused.
  LOCKSTEP_HD PoolRange holders(int position) const {
    if (kernel == 0) {
      return {floor_of(position, outputs, size), ceil_of(position + 1, outputs, size), 0};
    }
    // Windows that start at `before` or earlier, counted from the start of the padding, end before
    // `position`.
    const int before = position + padding - kernel;
    const int begin = before < 0 ? 0 : before / stride + 1;
    return {begin, smaller((position + padding) / stride + 1, outputs), 0};
  }

 private:
  LOCKSTEP_HD static int smaller(int a, int b) { return a < b ? a : b; }
  // a b / c, rounded down and up; a b may exceed the range of int.
  LOCKSTEP_HD static int floor_of(int a, int b, int c) { return static_cast<int>(std::int64_t{a} * b / c); }
  LOCKSTEP_HD static int ceil_of(int a, int b, int c) {
    return static_cast<int>((std::int64_t{a} * b + c - 1) / c);
  }
};

/// Windows of a pooling layer along both dimensions.
struct PoolWindows {
  PoolAxis rows;
  PoolAxis columns;
};

/// Windows of `pool`, which is adaptive if it has no `kernel`.
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
