#pragma once

/// Marks functions that return the same bits on CPU and GPU: they use only IEEE additions, multiplications,
/// divisions, square roots and fma.
#ifdef __CUDACC__
#define LOCKSTEP_HD __host__ __device__
#else
#define LOCKSTEP_HD
#endif
