#include "ops/cpu/cpu_plan.h"

#include <algorithm>

#include "ops/cpu/kernels/elementwise.h"

namespace lockstep::cpu {
namespace {

/// Sets values of the last group's missing lanes to `missing`.
template <class Value>
void fill_lanes(int samples, Value missing, Value* values) {
  if (values != nullptr) std::fill(values + samples, values + groups_of(samples) * lanes, missing);
}

}  // namespace

Op plan_op(const OpRequest& request) {
  return std::visit([&](const auto& options) { return plan(options, request); }, request.node.operation);
}

/// Plans nothing: the input is loaded, not computed.
Op plan(const Input& /*options*/, const OpRequest& /*request*/) { return {}; }

CpuPlan::CpuPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Level level)
    : GraphWalk(graph, layout, options), level_(level) {
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
  loss_ = plan_loss(graph_.nodes[at(graph_.output)].shape, options, level);
  memory_ = lay_out_workspace(graph_, options_, flow_, needed_bytes());
}

WorkspaceBytes CpuPlan::needed_bytes() const {
  WorkspaceBytes bytes;
  bytes.samples = static_cast<std::size_t>(groups_of(options_.samples)) * lanes;
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

void CpuPlan::load(const MicroBatch& batch, const SampleFormat& format, std::byte* workspace) const {
  const int samples = static_cast<int>(batch.size);
  const Shape& target = graph_.nodes[0].shape;
  for (int first = 0; first < samples; first += lanes) {
    gather(level_, batch, format, first, target,
           value(0, workspace) + static_cast<std::size_t>(first) * target.size());
  }
  fill_lanes(samples, -1, batch.labels);
  fill_lanes(samples, -1, batch.partner_labels);
  fill_lanes(samples, 1.0F, batch.shares);
}

void CpuPlan::forward(const MicroBatch& batch, NodeRange range, const float* parameters, LeafResult* result,
                      std::byte* workspace) const {
  if (batch.size > 0) {
    walk_forward(Pass{.batch = batch, .parameters = parameters, .workspace = workspace}, range, result);
  } else if (range.end > nodes()) {
    *result = {};
  }
}

std::span<const std::int32_t> CpuPlan::predictions(const MicroBatch& batch,
                                                   const std::byte* workspace) const {
  return {reinterpret_cast<const std::int32_t*>(workspace + memory_.predictions), batch.size};
}

std::size_t CpuPlan::outputs_size() const { return graph_.nodes[at(graph_.output)].shape.size(); }

void CpuPlan::write_outputs(const MicroBatch& batch, std::byte* workspace, float* outputs) const {
  const float* const values = value(at(graph_.output), workspace);
  const std::size_t count = outputs_size();
  for (std::size_t sample = 0; sample < batch.size; ++sample) {
    const float* const lane = values + sample / lanes * lanes * count + sample % lanes;
    for (std::size_t i = 0; i < count; ++i) *outputs++ = lane[i * lanes];
  }
}

void CpuPlan::backward(const MicroBatch& batch, NodeRange range, const float* parameters, float* gradients,
                       std::byte* workspace) const {
  const Pass pass{.batch = batch, .parameters = parameters, .gradients = gradients, .workspace = workspace};
  if (batch.size > 0) {
    walk_backward(pass, range);
  } else if (range.end >= nodes()) {
    clear(pass, gradients, layout_.elements);
  }
}

void CpuPlan::clear(const Pass& /*pass*/, float* first, std::size_t elements) {
  std::fill_n(first, elements, 0.0F);
}

void CpuPlan::add(const Pass& pass, std::size_t node, float* sum, const float* more) const {
  const auto groups = static_cast<std::size_t>(groups_of(static_cast<int>(pass.batch.size)));
  elementwise_kernels(level_).add(groups * graph_.nodes[node].shape.size(), sum, more, sum);
}

}  // namespace lockstep::cpu
