#pragma once

#include "graph/graph.h"
#include "ops/plan_layout.h"

namespace lockstep::cuda {

/// Buckets of operations whose parameter gradients are finished by one kernel
/// (kernels/parameters/finish_gradients.h). Input of that kernel is kept in separate memory until it runs.
struct GradientBuckets {
  std::vector<std::size_t> offsets;  ///< by node: offset in bytes of its input for the kernel
  std::vector<bool> ends;            ///< by node: whether a bucket ends after its backward
  std::size_t bytes = 0;             ///< of the largest bucket
};

/// Forms buckets of at least bucket_elements gradients, except for the last one: small networks have one
/// bucket, and large networks need memory for one bucket and the largest layer only. Places what each node
/// leaves for the kernel, at multiples of 256.
GradientBuckets plan_buckets(const Graph& graph, const ArenaLayout& layout, const GradientFlow& flow,
                             const std::vector<NodeBytes>& nodes);

}  // namespace lockstep::cuda
