#pragma once

/// Marks functions that CPU and GPU run with the same bits: they use IEEE additions, multiplications,
/// divisions, square roots and fma only.
#ifdef __CUDACC__
#define LOCKSTEP_HD __host__ __device__
#else
#define LOCKSTEP_HD
#endif
