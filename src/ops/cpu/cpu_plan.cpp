#include "ops/cpu/cpu_plan.h"

#include <algorithm>

#include "ops/cpu/kernels/elementwise.h"

namespace lockstep::cpu {
namespace {

/// One value per sample; missing lanes of the last group get `missing`.
template <class Value>
void load_labels(std::span<const Value> values, Value missing, std::byte* lanes_of_group) {
  auto* const lane = reinterpret_cast<Value*>(lanes_of_group);
  const int samples = static_cast<int>(values.size());
  std::copy(values.begin(), values.end(), lane);
  std::fill(lane + samples, lane + groups_of(samples) * lanes, missing);
}

}  // namespace

CpuPlan::CpuPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Level level)
    : GraphWalk(graph, layout, options), gather_(gather_group(level)), add_(elementwise_kernels(level).add) {
  for (const GraphNode& node : graph_.nodes) {
    const auto position = static_cast<int>(ops_.size());
    ops_.push_back(plan_op({.node = node,
                            .inputs = input_shapes(graph_, node),
                            .samples = options_.samples,
                            .training = options_.training,
                            .input_gradient = flow_.needed_by_any(node.inputs),
                            .level = level,
                            .position = position}));
  }
  loss_ = plan_cross_entropy(graph_.nodes[at(graph_.output)].shape, options.label_smoothing, level);
  memory_ = lay_out_workspace(graph_, options_, flow_, needed_bytes());
}

WorkspaceBytes CpuPlan::needed_bytes() const {
  WorkspaceBytes bytes;
  bytes.samples = static_cast<std::size_t>(groups_of(options_.samples)) * lanes;
  bytes.scratch = loss_.scratch_bytes;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    bytes.scratch = std::max(bytes.scratch, op.scratch_bytes);
    bytes.nodes.push_back({.value = bytes.samples * graph_.nodes[i].shape.size() * sizeof(float),
                           .saved = op.saved_bytes,
                           .backward_reads_inputs = op.backward_reads_inputs,
                           .backward_reads_output = op.backward_reads_output});
  }
  return bytes;
}

void CpuPlan::load(const Batch& batch, std::byte* workspace) const {
  const int samples = static_cast<int>(batch.samples());
  const Shape& target = graph_.nodes[0].shape;
  for (int group = 0; group < groups_of(samples); ++group) {
    const int first = group * lanes;
    gather_(batch, first, options_.images, target,
            value(0, workspace) + static_cast<std::size_t>(first) * target.size());
  }
  std::copy(batch.ids.begin(), batch.ids.end(), reinterpret_cast<std::uint64_t*>(workspace + memory_.ids));
  *reinterpret_cast<RandomKey*>(workspace + memory_.random) = batch.random;
  load_labels(batch.labels, -1, workspace + memory_.labels);
  if (options_.mixing) {
    load_labels(batch.other_labels, -1, workspace + memory_.other_labels);
    load_labels(batch.share, 1.0F, workspace + memory_.shares);
  }
}

void CpuPlan::forward(int samples, NodeRange range, const float* parameters, LeafResult* result,
                      std::byte* workspace) const {
  if (samples > 0) {
    walk_forward(Pass{.samples = samples, .parameters = parameters, .workspace = workspace}, range, result);
  } else if (range.end > nodes()) {
    *result = {};
  }
}

std::span<const std::int32_t> CpuPlan::predictions(int samples, const std::byte* workspace) const {
  return {reinterpret_cast<const std::int32_t*>(workspace + memory_.predictions),
          static_cast<std::size_t>(samples)};
}

void CpuPlan::backward(int samples, NodeRange range, const float* parameters, float* gradients,
                       std::byte* workspace) const {
  const Pass pass{
      .samples = samples, .parameters = parameters, .gradients = gradients, .workspace = workspace};
  if (samples > 0) {
    walk_backward(pass, range);
  } else if (range.end >= nodes()) {
    clear(pass, gradients, layout_.elements);
  }
}

void CpuPlan::clear(const Pass& /*pass*/, float* first, std::size_t elements) {
  std::fill_n(first, elements, 0.0F);
}

void CpuPlan::add(const Pass& pass, std::size_t node, float* sum, const float* more) const {
  add_(static_cast<std::size_t>(groups_of(pass.samples)) * graph_.nodes[node].shape.size(), sum, more, sum);
}

}  // namespace lockstep::cpu
