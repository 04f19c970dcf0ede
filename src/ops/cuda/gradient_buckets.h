#pragma once

#include "graph/graph.h"
#include "ops/plan_layout.h"

namespace lockstep::cuda {

/// Buckets of operations whose parameter gradients are finished by one kernel
/// (kernels/parameters/finish_gradients.h). The kernel's input is kept in separate memory until the kernel
/// runs.
struct GradientBuckets {
  std::vector<std::size_t> offsets;  ///< by node: offset in bytes of the node's input for the kernel
  std::vector<bool> ends;            ///< by node: whether a bucket ends after its backward
  std::size_t bytes = 0;             ///< size of the largest bucket
};

/// Forms buckets of at least bucket_elements gradients or GradientFinish::capacity nodes, except for the last
/// bucket: small networks have one bucket, and large networks need memory only for one bucket and the largest
/// layer. Places the data that each node leaves for the kernel at multiples of 256 bytes.
GradientBuckets plan_buckets(const Graph& graph, const ArenaLayout& layout, const GradientFlow& flow,
                             const std::vector<NodeBytes>& nodes);

}  // namespace lockstep::cuda
