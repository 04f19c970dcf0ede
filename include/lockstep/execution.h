#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/transport.h"

namespace lockstep {

/// What convolutions and linear layers compute in, and what activations are kept in. Parameters, gradients'
/// sums and statistics are floats in all of them.
enum class DataType {
  fp32,
  tf32,  ///< CUDA: multiplications of floats rounded to 10 bits of mantissa
  bf16,  ///< CUDA: activations and weights in bfloat16, sums in float
};

/// "fp32", "tf32" or "bf16".
const char* name_of(DataType dtype);

/// What a rank computes on and how. Beside the data type and the kind of device, nothing here changes a
/// result.
struct ExecutionOptions {
  /// cpu, cuda or auto: cuda where every rank that leaves it open can compute with it on a GPU of its own (or
  /// has a transport that lets ranks share one), else cpu, with a warning where there are too few GPUs.
  std::string device = "auto";
  DataType dtype = DataType::fp32;
  /// CPU: executors of this rank; 0: its share of the host's cores. CUDA: threads that read samples where the
  /// GPU does not hold the data set; 0: that share without one core. There are as many again for
  /// evaluation: in a run they take turns.
  int threads = 0;
  std::string simd = "auto";  ///< CPU: instruction set: auto, avx2, avx512, neon
  bool cuda_graph = true;     ///< CUDA: steps become graphs; else they are given to the GPU piece by piece
  /// CUDA: steps that are given to the GPU before the host looks at what they found; 0: as many as are usual.
  std::uint64_t steps_at_once = 0;
  std::string plan_cache = {};  ///< CUDA: file that keeps which engines were chosen; empty: none
  Transport transport = Transport::automatic;
  /// Shares of the work for ranks of different speeds, one per rank; empty: equal ones.
  std::vector<double> rank_weights = {};

  bool operator==(const ExecutionOptions&) const = default;
};

}  // namespace lockstep
