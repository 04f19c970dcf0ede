#include "ops/cuda/gradient_buckets.h"

#include <algorithm>

#include "gradient/buckets.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

std::size_t gradients_of(const GraphNode& node, const ArenaLayout& layout) {
  std::size_t elements = 0;
  for (const int parameter : node.parameters) {
    const auto p = static_cast<std::size_t>(parameter);
    elements += layout.end_of(p) - layout.offsets[p];
  }
  return elements;
}

}  // namespace

GradientBuckets plan_buckets(const Graph& graph, const ArenaLayout& layout, const GradientFlow& flow,
                             const std::vector<NodeBytes>& nodes) {
  GradientBuckets buckets;
  buckets.offsets.resize(graph.nodes.size());
  buckets.ends.resize(graph.nodes.size());
  ScratchLayout memory;
  std::size_t gradients = 0;
  std::size_t count = 0;  // nodes in the bucket
  for (std::size_t i = graph.nodes.size(); i-- > 1;) {
    if (!flow.needed[i] || graph.nodes[i].parameters.empty()) continue;
    buckets.offsets[i] = memory.add(nodes[i].left);
    buckets.bytes = std::max(buckets.bytes, memory.bytes());
    gradients += gradients_of(graph.nodes[i], layout);
    if (gradients < bucket_elements && ++count < GradientFinish::capacity) continue;
    buckets.ends[i] = true;
    memory = {};
    gradients = count = 0;
  }
  return buckets;
}

}  // namespace lockstep::cuda
