#pragma once

#include <cstddef>

#include "core/host_device.h"

/// How all kernels of this project are written: as a function of an index, which the GPU calls from its
/// threads and tests call in a loop on the host, with the same bits. Sources under cuda/kernels only.

struct CUstream_st;

namespace lockstep::cuda {

/// An ordered queue of work of the GPU: cudaStream_t. Not looked at on the host.
using StreamHandle = CUstream_st*;

/// Threads that share a row, see for_each_row.
constexpr unsigned row_threads = 256;

/// What for_each_row gives its work for `row`.
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
