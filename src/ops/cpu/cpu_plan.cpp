#include "ops/cpu/cpu_plan.h"

#include <hwy/cache_control.h>

#include <algorithm>

#include "ops/cpu/channel_chain.h"
#include "ops/cpu/kernels/conversion.h"
#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/widened_op.h"

namespace lockstep::cpu {
namespace {

/// Sets the values in missing lanes of the last group to `missing`.
template <class Value>
void fill_lanes(int samples, Value missing, Value* values) {
  if (values != nullptr) std::fill(values + samples, values + groups_of(samples) * lanes, missing);
}

}  // namespace

Op plan_op(const OpRequest& request) {
  Op op = std::visit([&](const auto& options) { return plan(options, request); }, request.node.operation);
  if (request.node.zero_bias_gradient) op = with_zero_bias_gradient(request, std::move(op));
  return request.dtype == DataType::bf16 && !op.takes_bf16 ? widened(request, std::move(op)) : op;
}

Op with_zero_bias_gradient(const OpRequest& request, Op op) {
  op.backward = [backward = std::move(op.backward),
                 channels = request.node.shape.channels](AnyMemory memory) {
    std::fill_n(memory.grad_parameters[1], channels, 0.0F);
    memory.grad_parameters[1] = nullptr;
    backward(memory);
  };
  return op;
}

/// Plans nothing: the input is loaded, not computed.
Op plan(const Input& /*options*/, const OpRequest& /*request*/) { return {}; }

CpuPlan::CpuPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Level level,
                 DataType dtype)
    : CpuPlan(graph,
              options.nodes_apart ? std::vector<NodeRange>()
                                  : find_chains(graph, trace_gradients(graph, options), options.samples),
              layout, options, level, dtype) {}

CpuPlan::CpuPlan(const Graph& graph, const std::vector<NodeRange>& chains, const ArenaLayout& layout,
                 const PlanOptions& options, Level level, DataType dtype)
    : GraphWalk(with_chains(graph, chains), layout, options), level_(level), dtype_(dtype) {
  auto chain = chains.begin();
  for (const GraphNode& node : graph_.nodes) {
    const std::size_t position = ops_.size();
    const OpRequest request{.node = node,
                            .inputs = input_shapes(graph_, node),
                            .samples = options_.samples,
                            .training = options_.training,
                            .input_gradient = flow_.needed_by_any(node.inputs),
                            .level = level,
                            .position = static_cast<int>(position),
                            .dtype = dtype};
    if (chain == chains.end() || position < chain->begin) {
      ops_.push_back(plan_op(request));
    } else if (position + 1 < chain->end) {
      ops_.emplace_back();
    } else {
      ops_.push_back(plan_chain(graph, *chain++, request, flow_.needed[position]));
    }
  }
  const Shape& logits = graph_.nodes[at(graph_.output)].shape;
  loss_ = plan_loss(logits, options, level);
  if (stores_bf16()) loss_ = widened(loss_, logits, level);
  memory_ = lay_out_workspace(graph_, options_, flow_, needed_bytes());
}

WorkspaceBytes CpuPlan::needed_bytes() const {
  WorkspaceBytes bytes;
  bytes.samples = static_cast<std::size_t>(groups_of(options_.samples)) * lanes;
  if (stores_bf16()) {  // the loss computes in floats
    bytes.loss_scratch = widened_loss_bytes(graph_.nodes[at(graph_.output)].shape, options_.samples);
  }
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    bytes.nodes.push_back(
        {.value = stored_bytes(graph_.nodes[i].shape, options_.samples, element_bytes(dtype_)),
         .saved = op.saved_bytes,
         .scratch = op.scratch_bytes,
         .backward_reads_inputs = op.backward_reads_inputs,
         .backward_reads_output = op.backward_reads_output,
         .recomputable = op.recompute != nullptr});
  }
  if (stores_bf16()) bytes.nodes[0].scratch = graph_.nodes[0].shape.size() * lanes * sizeof(float);
  return bytes;
}

void CpuPlan::load(const MicroBatch& batch, const SampleFormat& format, std::byte* workspace) const {
  const int samples = static_cast<int>(batch.size);
  const Shape& target = graph_.nodes[0].shape;
  for (int first = 0; first < samples; first += lanes) {
    const std::size_t offset = static_cast<std::size_t>(first) * target.size();
    if (stores_bf16()) {
      float* const group = floats_at(workspace, memory_.nodes[0].scratch);
      gather(level_, batch, format, first, target, group);
      conversion_kernels(level_).round(target.size(), group,
                                       static_cast<Bfloat16*>(value(0, workspace)) + offset);
    } else {
      gather(level_, batch, format, first, target, static_cast<float*>(value(0, workspace)) + offset);
    }
  }
  fill_lanes(samples, -1, batch.labels);
  fill_lanes(samples, -1, batch.partner_labels);
  fill_lanes(samples, 1.0F, batch.shares);
}

void CpuPlan::forward(const MicroBatch& batch, NodeRange range, const float* parameters, LeafResult* result,
                      std::byte* workspace) const {
  if (batch.size > 0) {
    walk_forward(Pass{.batch = batch, .parameters = parameters, .workspace = workspace}, range, result);
    hwy::FlushStream();  // before other threads read the results
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
  const void* const values = value(at(graph_.output), workspace);
  const std::size_t count = outputs_size();
  for (std::size_t sample = 0; sample < batch.size; ++sample) {
    const std::size_t lane = sample / lanes * lanes * count + sample % lanes;
    for (std::size_t i = lane; i < lane + count * lanes; i += lanes) {
      *outputs++ = stores_bf16() ? to_float(static_cast<const Bfloat16*>(values)[i])
                                 : static_cast<const float*>(values)[i];
    }
  }
}

void CpuPlan::backward(const MicroBatch& batch, NodeRange range, const float* parameters, float* gradients,
                       std::byte* workspace) const {
  const Pass pass{.batch = batch, .parameters = parameters, .gradients = gradients, .workspace = workspace};
  if (batch.size > 0) {
    walk_backward(pass, range);
    hwy::FlushStream();
  } else if (range.end >= nodes()) {
    clear(pass, gradients, layout_.elements);
  }
}

void CpuPlan::clear(const Pass& /*pass*/, float* first, std::size_t elements) {
  std::fill_n(first, elements, 0.0F);
}

void CpuPlan::add(const Pass& pass, std::size_t node, void* sum, const void* more) const {
  const auto groups = static_cast<std::size_t>(groups_of(static_cast<int>(pass.batch.size)));
  const std::size_t pixels = groups * graph_.nodes[node].shape.size();
  if (stores_bf16()) {
    auto* const halves = static_cast<Bfloat16*>(sum);
    elementwise_kernels(level_).bf16.add(pixels, halves, static_cast<const Bfloat16*>(more), halves);
  } else {
    auto* const floats = static_cast<float*>(sum);
    elementwise_kernels(level_).add(pixels, floats, static_cast<const float*>(more), floats);
  }
}

}  // namespace lockstep::cpu
