#pragma once

#include "graph/graph.h"
#include "ops/plan_layout.h"

namespace lockstep::cuda {

/// Backward leaves the last of what makes gradients of parameters to one kernel for several operations
/// (kernels/parameters/finish_gradients.h): those of a bucket. What that kernel reads has memory of its own
/// until then.
struct GradientBuckets {
  std::vector<std::size_t> offsets;  ///< by node: of what it leaves, in bytes
  std::vector<bool> ends;            ///< by node: whether backward finishes a bucket after it
  std::size_t bytes = 0;             ///< of the largest bucket
};

/// A bucket has bucket_elements gradients or more: small networks have one bucket, and what is left of large
/// ones takes no more memory than these and the largest layer's. `left`: bytes that each node leaves; offsets
/// are aligned to 256.
GradientBuckets plan_buckets(const Graph& graph, const ArenaLayout& layout, const GradientFlow& flow,
                             const std::vector<std::size_t>& left);

}  // namespace lockstep::cuda
