#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/field.h"
#include "lockstep/period.h"

namespace lockstep {

/// The device of a rank.
enum class DeviceKind : std::uint32_t {
  automatic,  ///< CUDA if every rank with this value can have its own GPU, else the CPU
  cpu,
  cuda,
};
inline Names choices_of(DeviceKind) { return {"auto", "cpu", "cuda"}; }

/// Instruction set of CPU ranks. Does not affect the result.
enum class SimdLevel {
  automatic,  ///< the best level that the processor supports
  avx2,
  avx512,
  amx,  ///< AVX-512, and AMX for bf16 products
  neon,
};
inline Names choices_of(SimdLevel) { return {"auto", "avx2", "avx512", "amx", "neon"}; }

/// Rule by which CPU executors and ranks share the micro-batches of a training step. Does not affect the
/// result.
enum class ShareRule {
  measured,  ///< starts with equal shares; threads and ranks that are slow for a while get smaller ones
  equal,
  changing,  ///< for tests: shares change every few steps
};
inline Names choices_of(ShareRule) { return {"measured", "equal", "changing"}; }

/// Data type of stored activations, and of the products of convolutions and linear layers. Parameters, sums
/// of gradients and statistics are always floats.
enum class DataType {
  fp32,
  tf32,  ///< CUDA: floats, rounded to 10 bits of mantissa for multiplication
  bf16,  ///< activations and weights in bfloat16, sums in float
};
inline Names choices_of(DataType) { return {"fp32", "tf32", "bf16"}; }

/// Path by which ranks exchange data. Does not affect the result.
enum class Transport {
  automatic,      ///< shared memory within hosts that allow it, else messages; messages between hosts
  shared_memory,  ///< memory that the ranks of one host share
  messages,       ///< MPI messages
};
inline Names choices_of(Transport) { return {"auto", "shared-memory", "messages"}; }

/// Device and execution of a rank; `visit` describes the options. Only the device and the data type affect
/// the result.
struct ExecutionOptions {
  DeviceKind device = DeviceKind::automatic;
  DataType dtype = DataType::fp32;
  int threads = 0;
  SimdLevel simd = SimdLevel::automatic;
  bool recompute_activations = false;
  bool cuda_graph = true;
  /// CUDA: micro-batches that a GPU computes at the same time; 0: automatic.
  int streams = 0;
  /// CUDA: steps submitted before the host reads their outcomes; 0: automatic.
  std::uint64_t steps_at_once = 0;
  std::string plan_cache = {};
  Transport transport = Transport::automatic;
  std::vector<double> rank_weights = {};
  ShareRule shares = ShareRule::measured;
  bool watchdog = true;
  Duration hang_limit = {10.0};

  bool operator==(const ExecutionOptions&) const = default;
};

/// Visits the options that only GPUs have; a part of visit.
template <class Visitor>
void visit_gpu_options(auto& cuda_graph, auto& streams, auto& steps_at_once, auto& plan_cache,
                       Visitor&& field) {
  field(cuda_graph,
        {.name = "cuda-graph",
         .help =
             "submit each step to the GPU as one graph; off is for debugging and does not affect the result",
         .scope = Scope::protocol,  // NCCL: either all ranks capture a collective, or none
         .choices =
             [] {
               return Names{"on", "off"};
             },
         .device = "cuda"});
  field(streams, {.name = "streams",
                  .help = "micro-batches that a GPU computes at the same time, or as many as fit into a "
                          "quarter of its free memory; one if the host reads the samples. Does not affect "
                          "the result",
                  .range = {.min = 1, .max = 64},
                  .scope = Scope::local,
                  .device = "cuda",
                  .zero = "auto"});
  field(steps_at_once, {.name = "steps-at-once",
                        .help = "number of steps submitted together; the minimum over the ranks counts",
                        .scope = Scope::local,
                        .device = "cuda",
                        .visible = false});
  field(plan_cache, {.name = "plan-cache",
                     .help = "measure which engine of cuDNN is the fastest for each operation, and keep the "
                             "answers in FILE; without it: the choice of cuDNN",
                     .placeholder = "FILE",
                     .scope = Scope::protocol,
                     .device = "cuda"});
}

template <OptionsOf<ExecutionOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [device, dtype, threads, simd, recompute_activations, cuda_graph, streams, steps_at_once, plan_cache,
         transport, rank_weights, shares, watchdog, hang_limit] = options;
  // With rank weights, ranks may have different devices.
  const bool mixed = !rank_weights.empty();
  field(device,
        {.name = "device",
         .help =
             "device that ranks compute on; auto: CUDA if each rank can have a GPU of its own, else the CPU",
         .group = "Execution",
         .scope = mixed ? Scope::local : Scope::result});
  field(dtype,
        {.name = "dtype",
         .help = "data type of stored activations and of products in convolutions and linear layers; sums "
                 "and parameters are fp32; tf32: CUDA only"});
  field(threads, {.name = "threads",
                  .help = "threads of each rank: on the CPU they compute; on CUDA they read those samples "
                          "that are not in GPU memory; auto shares the cores of a host among its ranks",
                  .range = {.min = 1, .max = 4096},
                  .scope = Scope::local,
                  .zero = "auto"});
  field(simd, {.name = "simd",
               .help = "vector instructions; does not affect the result",
               .scope = Scope::local,
               .device = "cpu"});
  field(
      recompute_activations,
      {.name = "recompute-activations",
       .help = "in training, compute cheap results (batch norm, ReLU, addition) again in backward instead of "
               "keeping them: less memory for deep networks, a little slower; does not affect the result",
       .scope = Scope::local,
       .device = "cpu"});
  visit_gpu_options(cuda_graph, streams, steps_at_once, plan_cache, field);
  field(rank_weights, {.name = "rank-weights",
                       .help = "relative share of the work of each rank, for ranks of different speeds; does "
                               "not affect the result; without it: --shares decides",
                       .scope = Scope::protocol});
  field(shares,
        {.name = "shares",
         .help = "how the micro-batches of a step are shared out; measured: threads and ranks that other "
                 "programs slow down get fewer (only threads with --rank-weights or with the ring); "
                 "equal: all get their share whatever their speed. Does not affect the result",
         .scope = Scope::protocol,
         .unlisted = "changing",
         .device = "cpu"});
  field(transport, {.name = "transport",
                    .help = "how ranks exchange data; auto: NCCL between GPUs, else shared memory within a "
                            "host and messages between hosts. With the other two, gradients of GPUs "
                            "pass through host memory, which lets ranks share a GPU",
                    .scope = Scope::protocol});
  field(watchdog,
        {.name = "watchdog",
         .help = "end the run when a rank hangs, and name that rank; off is for debuggers, which stop ranks. "
                 "Ranks that have ended are always found",
         .scope = Scope::protocol,
         .choices = [] {
           return Names{"on", "off"};
         }});
  field(hang_limit,
        {.name = "hang-limit",
         .help = "time for which ranks wait for another one before it counts as hung, or 10 times the usual "
                 "step if that is longer; 30 times this limit while ranks start or write files",
         .range = {.above = 0},
         .scope = Scope::protocol,
         .needs = {{"watchdog", {"on"}}}});
}

}  // namespace lockstep
