#include "ops/cuda/cuda_plan.h"

#include <algorithm>

#include "gradient/cuda/fold.h"
#include "lockstep/error.h"
#include "ops/cuda/dnn/flattening.h"
#include "ops/cuda/kernels/element_wise.h"

namespace lockstep::cuda {
namespace {

constexpr std::size_t alignment = 256;

/// By node: end of the last parameter of all nodes before it.
std::vector<std::size_t> ends_of_parameters_before(const Graph& graph, const ArenaLayout& layout) {
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  for (const GraphNode& node : graph.nodes) {
    ends.push_back(end);
    for (const int parameter : node.parameters) {
      end = std::max(end, layout.end_of(static_cast<std::size_t>(parameter)));
    }
  }
  return ends;
}

}  // namespace

Op plan_op(const OpRequest& request) {
  return std::visit([&](const auto& options) { return plan(options, request); }, request.node.operation);
}

/// Plans nothing, because the input is loaded instead of computed.
Op plan(const Input& /*options*/, const OpRequest& /*request*/) { return {}; }

CudaPlan::CudaPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Type type,
                   Dnn& dnn)
    : GraphWalk(without_flattening(graph, type), layout, options), type_(type), dnn_(&dnn) {
  compile_for(options.samples);
}

void CudaPlan::compile_for(int samples) {
  if (samples < 1 || samples > options_.samples) {
    throw Error(Category::internal, "a plan for up to " + std::to_string(options_.samples) +
                                        " samples cannot be compiled for " + std::to_string(samples));
  }
  if (operations_.contains(samples)) return;
  Operations operations;
  for (const GraphNode& node : graph_.nodes) {
    operations.nodes.push_back(plan_op({.node = node,
                                        .inputs = input_shapes(graph_, node),
                                        .samples = samples,
                                        .training = options_.training,
                                        .input_gradient = flow_.needed_by_any(node.inputs),
                                        .type = type_,
                                        .dnn = *dnn_,
                                        .position = static_cast<int>(operations.nodes.size())}));
  }
  operations.loss = plan_loss(graph_.nodes[at(graph_.output)].shape, samples, options_, type_);
  joins_ = find_joins(operations);  // the same for any number of samples
  operations_.emplace(samples, std::move(operations));
  const WorkspaceBytes bytes = needed_bytes();
  memory_ = lay_out_workspace(graph_, options_, flow_, bytes);
  buckets_ = plan_buckets(graph_, layout_, flow_, bytes.nodes);
}

std::vector<CudaPlan::Join> CudaPlan::find_joins(const Operations& operations) const {
  std::vector<Join> joins(graph_.nodes.size());
  int next = 0;  // node whose backward runs after the backward of node i
  for (std::size_t i = 1; i < graph_.nodes.size(); ++i) {
    if (!flow_.needed[i]) continue;
    const std::vector<int>& inputs = graph_.nodes[i].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Contribution& contribution = flow_.contributions[i][k];
      if (!contribution.wanted || contribution.first || inputs[k] != next) continue;
      if (!operations.nodes[at(next)].backward_adds || std::ranges::count(inputs, next) > 1) continue;
      joins[at(next)] = {static_cast<int>(i), k};
    }
    next = static_cast<int>(i);
  }
  return joins;
}

std::size_t CudaPlan::value_bytes(std::size_t node, int samples) const {
  const Shape& shape = graph_.nodes[node].shape;
  return Shape{padded_channels(shape.channels), shape.height, shape.width}.size() * at(samples) *
         bytes_of(type_);
}

/// Maximum over all compiled numbers of samples, because the library may need more memory for fewer samples.
WorkspaceBytes CudaPlan::needed_bytes() const {
  WorkspaceBytes bytes;
  bytes.samples = at(options_.samples);
  bytes.alignment = alignment;
  bytes.nodes.resize(graph_.nodes.size());
  for (std::size_t i = 0; i < bytes.nodes.size(); ++i) {
    bytes.nodes[i].value = value_bytes(i, options_.samples);
  }
  for (const auto& [samples, operations] : operations_) {
    bytes.loss_scratch = std::max(bytes.loss_scratch, operations.loss.scratch_bytes);
    for (std::size_t i = 0; i < bytes.nodes.size(); ++i) {
      const Op& op = operations.nodes[i];
      NodeBytes& node = bytes.nodes[i];
      node.scratch = std::max(node.scratch, op.scratch_bytes);
      node.saved = std::max(node.saved, op.saved_bytes);
      node.prepared = std::max(node.prepared, op.prepared_bytes);
      node.left = std::max(node.left, op.left_bytes);
      node.backward_reads_inputs = std::max(node.backward_reads_inputs, op.backward_reads_inputs);
      node.backward_reads_output |= op.backward_reads_output;
    }
  }
  return bytes;
}

std::size_t CudaPlan::buckets_offset() const {
  return (memory_.bytes + alignment - 1) / alignment * alignment;
}

const CudaPlan::Operations& CudaPlan::operations_for(int samples) const {
  const auto found = operations_.find(samples);
  if (found == operations_.end()) {
    throw Error(Category::internal,
                "the plan was not compiled for micro-batches of " + std::to_string(samples) + " samples");
  }
  return found->second;
}

const std::int32_t* CudaPlan::predictions(const std::byte* workspace) const {
  return reinterpret_cast<const std::int32_t*>(workspace + memory_.predictions);
}

CudaPlan::CudaPass CudaPlan::pass(StreamHandle stream, const MicroBatch& batch, const float* parameters,
                                  std::byte* workspace) const {
  CudaPass pass;
  pass.batch = batch;
  pass.parameters = parameters;
  pass.workspace = workspace;
  pass.stream = stream;
  pass.operations = &operations_for(static_cast<int>(batch.size));
  return pass;
}

OpMemory CudaPlan::on_device(const NodeMemory<void>& memory, const CudaPass& pass, std::size_t node) const {
  OpMemory view{memory};
  view.stream = pass.stream;
  view.padding = pass.padding;
  view.finish = pass.finish;
  view.prepared = block(pass.workspace, memory_.nodes[node].prepared);
  if (pass.finish == nullptr) return view;
  view.left = pass.workspace + buckets_offset() + buckets_.offsets[node];
  if (joins_[node].reader >= 0) view.more_grad_output = aside(joins_[node].input, pass.workspace);
  return view;
}

void CudaPlan::clear(const CudaPass& pass, float* first, std::size_t elements) {
  fill(pass.stream, first, 0.0F, elements);
}

void CudaPlan::add(const CudaPass& pass, std::size_t node, void* sum, const void* more) const {
  const std::size_t packs =
      value_bytes(node, static_cast<int>(pass.batch.size)) / bytes_of(type_) / channel_unit;
  cuda::add(pass.stream, type_, packs, sum, more, sum);
}

bool CudaPlan::adds_later(std::size_t node, std::size_t input) const {
  return joins_[at(graph_.nodes[node].inputs[input])].reader == static_cast<int>(node);
}

void CudaPlan::finish_node(const CudaPass& pass, std::size_t node) const {
  if (buckets_.ends[node]) pass.finish->run();
}

void CudaPlan::prepare(StreamHandle stream, const float* parameters, std::byte* workspace) const {
  // The prepared form does not depend on the number of samples.
  const auto& [samples, operations] = *operations_.begin();
  WeightPadding padding(stream, type_);
  CudaPass prepared = pass(stream, {.size = static_cast<std::uint32_t>(samples)}, parameters, workspace);
  prepared.padding = &padding;
  for (std::size_t i = 1; i < operations.nodes.size(); ++i) {
    if (operations.nodes[i].prepare) {
      operations.nodes[i].prepare(on_device(node_memory(prepared, i), prepared, i));
    }
  }
  padding.run();
}

void CudaPlan::forward(StreamHandle stream, const MicroBatch& batch, NodeRange range, const float* parameters,
                       LeafResult* result, std::byte* workspace) const {
  walk_forward(pass(stream, batch, parameters, workspace), range, result);
}

void CudaPlan::backward(StreamHandle stream, const MicroBatch& batch, NodeRange range,
                        const float* parameters, float* gradients, std::byte* workspace) const {
  GradientFinish finish(stream, type_);
  CudaPass back = pass(stream, batch, parameters, workspace);
  back.gradients = gradients;
  back.finish = &finish;
  walk_backward(back, range);
  finish.run();
}

std::vector<GradientPart> CudaPlan::parts() const {
  const std::vector<std::size_t> final_from = ends_of_parameters_before(graph_, layout_);
  std::vector<GradientPart> parts;
  std::size_t end = graph_.nodes.size();
  for (std::size_t i = end; i-- > 2;) {
    if (!buckets_.ends[i]) continue;
    parts.push_back({{i, end}, final_from[i]});
    end = i;
  }
  parts.push_back({{1, end}, 0});
  return parts;
}

}  // namespace lockstep::cuda
