#pragma once

struct CUstream_st;

namespace lockstep::cuda {

/// cudaStream_t, for code that does not include CUDA's headers.
using StreamHandle = CUstream_st*;

}  // namespace lockstep::cuda
