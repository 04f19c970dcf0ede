#pragma once

/// Marks functions that the CPU and the GPU both run, with the same bits: IEEE additions, multiplications,
/// divisions, square roots and fma only.
#ifdef __CUDACC__
#define LOCKSTEP_HD __host__ __device__
#else
#define LOCKSTEP_HD
#endif
