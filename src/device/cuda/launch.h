#pragma once

#include <cstddef>

#include "core/host_device.h"

/// Launch of kernels that are written as a function of an index, which the GPU calls from its threads and
/// tests call in a loop on the host, with the same bits. For sources in cuda/kernels only.

struct CUstream_st;

namespace lockstep::cuda {

/// cudaStream_t, which the host only passes on.
using StreamHandle = CUstream_st*;

/// Number of threads that share a row in for_each_row.
constexpr unsigned row_threads = 256;
/// Maximum number of lanes of a row.
constexpr unsigned max_row_lanes = 32;

/// Number of lanes that `work` divides a row into: a power of two.
template <class Work>
LOCKSTEP_HD unsigned lanes_of(const Work& work) {
  if constexpr (requires { work.lanes(); }) {
    return work.lanes();
  } else {
    return 1;
  }
}

/// Argument that for_each_row passes to `work` for a lane of `row`. `results`: those of the work before, if
/// any.
template <class Work, class... Results>
LOCKSTEP_HD auto place_in(const Work& work, std::size_t row, unsigned lane, const Results*... results) {
  if constexpr (requires { work.place(row, lane, results...); }) {
    return work.place(row, lane, results...);
  } else if constexpr (requires { work.place(row); }) {
    return work.place(row);
  } else {
    return row;
  }
}

/// Values read for `work`'s term `k`; nothing if it does not read ahead.
template <class Work, class Place>
LOCKSTEP_HD auto load_for(const Work& work, const Place& place, std::size_t k) {
  if constexpr (requires { work.load(place, k); }) {
    static_assert(Work::ahead > 0);
    return work.load(place, k);
  } else {
    return k;
  }
}
template <class Work, class Place, class Loaded>
LOCKSTEP_HD auto term_of(const Work& work, const Place& place, std::size_t k, const Loaded& loaded) {
  if constexpr (requires { work.load(place, k); }) {
    return work.term(place, k, loaded);
  } else {
    return work.term(place, k);
  }
}

}  // namespace lockstep::cuda

#if defined(__CUDACC__) || defined(LOCKSTEP_BLOCK_THREADS)
#include "device/cuda/native/launch.h"
#else
#include "device/cuda/launch_on_host.h"
#endif
