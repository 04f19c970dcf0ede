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

/// Argument that for_each_row passes to `work` for `row`.
template <class Work>
LOCKSTEP_HD auto place_in(const Work& work, std::size_t row) {
  if constexpr (requires { work.place(row); }) {
    return work.place(row);
  } else {
    return row;
  }
}

}  // namespace lockstep::cuda

#ifdef __CUDACC__
#include "device/cuda/native/launch.h"
#else
#include "device/cuda/launch_on_host.h"
#endif
