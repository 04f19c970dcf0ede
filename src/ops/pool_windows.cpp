#include "ops/pool_windows.h"

namespace lockstep {
namespace {

template <class Pool>
PoolAxis sliding(const Pool& pool, bool count_padding) {
  return {
      .kernel = pool.kernel, .stride = pool.stride, .padding = pool.padding, .count_padding = count_padding};
}

PoolAxis axis_of(const Operation& operation) {
  if (const auto* max = std::get_if<MaxPool2d>(&operation)) return sliding(*max, false);
  if (const auto* average = std::get_if<AvgPool2d>(&operation)) {
    return sliding(*average, average->count_include_pad);
  }
  return {};
}

}  // namespace

PoolWindows pool_windows(const Operation& pool, Shape input, Shape output) {
  PoolWindows windows{axis_of(pool), axis_of(pool)};
  windows.rows.size = input.height;
  windows.rows.outputs = output.height;
  windows.columns.size = input.width;
  windows.columns.outputs = output.width;
  return windows;
}

}  // namespace lockstep
