#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/field.h"
#include "lockstep/transport.h"

namespace lockstep {

/// The device of a rank.
enum class DeviceKind : std::uint32_t {
  automatic,  ///< CUDA where all ranks that leave it open can have a GPU of their own, else the CPU
  cpu,
  cuda,
};
inline Names choices_of(DeviceKind) { return {"auto", "cpu", "cuda"}; }

/// Instruction set of CPU ranks. Does not affect the result.
enum class SimdLevel {
  automatic,  ///< the best that the processor has
  avx2,
  avx512,
  neon,
};
inline Names choices_of(SimdLevel) { return {"auto", "avx2", "avx512", "neon"}; }

/// What convolutions and linear layers compute in, and what activations are kept in. Parameters, gradients'
/// sums and statistics are floats in all of them.
enum class DataType {
  fp32,
  tf32,  ///< CUDA: multiplications of floats rounded to 10 bits of mantissa
  bf16,  ///< CUDA: activations and weights in bfloat16, sums in float
};

inline Names choices_of(DataType) { return {"fp32", "tf32", "bf16"}; }

/// Device and execution of a rank; `visit` describes the options. Only the device and the data type affect
/// the result.
struct ExecutionOptions {
  DeviceKind device = DeviceKind::automatic;
  DataType dtype = DataType::fp32;
  int threads = 0;
  SimdLevel simd = SimdLevel::automatic;
  bool cuda_graph = true;
  /// CUDA: steps submitted together, before the host looks at their outcomes; 0: automatic.
  std::uint64_t steps_at_once = 0;
  std::string plan_cache = {};
  Transport transport = Transport::automatic;
  std::vector<double> rank_weights = {};

  bool operator==(const ExecutionOptions&) const = default;
};

template <OptionsOf<ExecutionOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [device, dtype, threads, simd, cuda_graph, steps_at_once, plan_cache, transport, rank_weights] =
      options;
  // With shares for ranks of different speeds, some may have a GPU and others not.
  const bool mixed = !rank_weights.empty();
  field(device, {.name = "device",
                 .help = "what ranks compute on; auto: a GPU each where all ranks can have one of their own, "
                         "else the CPU",
                 .group = "Execution",
                 .scope = mixed ? Scope::local : Scope::result});
  field(dtype, {.name = "dtype",
                .help = "CUDA: data type of convolutions and linear layers, fp32 without TensorFloat-32; CPU "
                        "ranks compute in fp32"});
  field(threads,
        {.name = "threads",
         .help = "threads of each CPU rank; of a GPU's rank, those that read samples which do not lie "
                 "in its memory; auto shares a host's cores among its ranks",
         .range = {.min = 1, .max = 4096},
         .scope = Scope::local,
         .zero = "auto"});
  field(simd, {.name = "simd",
               .help = "vector instructions of CPU ranks; does not affect the result",
               .scope = Scope::local});
  field(cuda_graph, {.name = "cuda-graph",
                     .help = "whether a GPU is given a whole step at once; off is for debugging and does not "
                             "affect the result",
                     .scope = Scope::local,
                     .choices = [] {
                       return Names{"on", "off"};
                     }});
  field(steps_at_once, {.name = "steps-at-once",
                        .help = "CUDA: steps submitted together; the fewest that any rank asks for",
                        .scope = Scope::local,
                        .visible = false});
  field(plan_cache,
        {.name = "plan-cache",
         .help = "CUDA: measure the library's engines and keep in this file which is the fastest for "
                 "each operation; without it, the library's own choice",
         .placeholder = "FILE",
         .scope = Scope::protocol});
  field(rank_weights, {.name = "rank-weights",
                       .help = "relative share of the work per rank, for ranks of different speeds; empty: "
                               "equal shares. Does not affect the result",
                       .scope = Scope::protocol});
  field(transport,
        {.name = "transport",
         .help = "how ranks exchange data; auto is shared memory within one host, and NCCL between "
                 "GPUs, each of one rank; the others go through the host's memory, which lets ranks "
                 "share a GPU",
         .scope = Scope::protocol});
}

}  // namespace lockstep
