#pragma once

struct CUstream_st;

namespace lockstep::cuda {

/// cudaStream_t, which the host only passes on.
using StreamHandle = CUstream_st*;

}  // namespace lockstep::cuda
