#pragma once

// In place of CUDA's header, for check.h.

enum cudaError_t { cudaSuccess = 0 };
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
