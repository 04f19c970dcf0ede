#include "ops/cuda/cuda_plan.h"

#include <algorithm>

#include "lockstep/error.h"
#include "ops/cuda/flattening.h"
#include "ops/cuda/kernels/element_wise.h"

namespace lockstep::cuda {
namespace {

constexpr std::size_t alignment = 256;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Null where there is no such block.
std::byte* block(std::byte* workspace, std::size_t offset) {
  return offset == WorkspaceLayout::none ? nullptr : workspace + offset;
}

/// By node: the end of the last parameter of all nodes before it.
std::vector<std::size_t> ends_of_parameters_before(const Graph& graph, const ArenaLayout& layout) {
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  for (const GraphNode& node : graph.nodes) {
    ends.push_back(end);
    for (const int parameter : node.parameters) {
      const std::size_t next = at(parameter) + 1;
      end = std::max(end, next < layout.offsets.size() ? layout.offsets[next] : layout.elements);
    }
  }
  return ends;
}

}  // namespace

CudaPlan::CudaPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Type type,
                   Dnn& dnn)
    : graph_(without_flattening(graph, type)),
      layout_(layout),
      options_(options),
      type_(type),
      dnn_(&dnn),
      flow_(trace_gradients(graph_, options)),
      cleared_(ranges_without_gradient(graph_, layout, flow_)),
      written_from_(ends_of_parameters_before(graph_, layout)) {
  compile_for(options.samples);
}

void CudaPlan::compile_for(int samples) {
  if (samples < 1 || samples > options_.samples) {
    throw Error(Category::internal, "a plan for " + std::to_string(options_.samples) +
                                        " samples was asked for " + std::to_string(samples));
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
  operations.loss =
      plan_cross_entropy(graph_.nodes[at(graph_.output)].shape, samples, options_.label_smoothing, type_);
  joins_ = find_joins(operations);  // the same for any number of samples
  operations_.emplace(samples, std::move(operations));
  memory_ = lay_out_workspace(graph_, options_, flow_, needed_bytes());
  buckets_ = plan_buckets(graph_, layout_, flow_, left_bytes());
}

std::vector<CudaPlan::Join> CudaPlan::find_joins(const Operations& operations) const {
  std::vector<Join> joins(graph_.nodes.size());
  int next = 0;  // whose backward comes after that of i
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

/// What is enough for each number of samples: the library may want more memory for fewer.
WorkspaceBytes CudaPlan::needed_bytes() const {
  WorkspaceBytes bytes;
  bytes.samples = at(options_.samples);
  bytes.alignment = alignment;
  bytes.nodes.resize(graph_.nodes.size());
  for (std::size_t i = 0; i < bytes.nodes.size(); ++i) {
    bytes.nodes[i].value = value_bytes(i, options_.samples);
  }
  for (const auto& [samples, operations] : operations_) {
    bytes.scratch = std::max(bytes.scratch, operations.loss.scratch_bytes);
    for (std::size_t i = 0; i < bytes.nodes.size(); ++i) {
      const Op& op = operations.nodes[i];
      NodeBytes& node = bytes.nodes[i];
      bytes.scratch = std::max(bytes.scratch, op.scratch_bytes);
      node.saved = std::max(node.saved, op.saved_bytes);
      node.prepared = std::max(node.prepared, op.prepared_bytes);
      node.backward_reads_inputs |= op.backward_reads_inputs;
      node.backward_reads_output |= op.backward_reads_output;
    }
  }
  return bytes;
}

std::vector<std::size_t> CudaPlan::left_bytes() const {
  std::vector<std::size_t> bytes(graph_.nodes.size());
  for (const auto& [samples, operations] : operations_) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = std::max(bytes[i], operations.nodes[i].left_bytes);
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
                "a micro-batch of " + std::to_string(samples) + " samples was not compiled for");
  }
  return found->second;
}

void* CudaPlan::value(int id, std::byte* workspace) const {
  return block(workspace, memory_.nodes[at(id)].value);
}

void* CudaPlan::gradient(int id, std::byte* workspace) const {
  return block(workspace, memory_.nodes[at(id)].gradient);
}

CudaPlan::Inputs CudaPlan::inputs(std::byte* workspace) const {
  Inputs inputs;
  inputs.images = value(0, workspace);
  inputs.labels = reinterpret_cast<std::int32_t*>(workspace + memory_.labels);
  if (options_.mixing) {
    inputs.other_labels = reinterpret_cast<std::int32_t*>(workspace + memory_.other_labels);
    inputs.shares = reinterpret_cast<float*>(workspace + memory_.shares);
  }
  inputs.ids = reinterpret_cast<std::uint64_t*>(workspace + memory_.ids);
  inputs.random = reinterpret_cast<RandomKey*>(workspace + memory_.random);
  return inputs;
}

const std::int32_t* CudaPlan::predictions(const std::byte* workspace) const {
  return reinterpret_cast<const std::int32_t*>(workspace + memory_.predictions);
}

/// Without gradients.
OpMemory CudaPlan::node_memory(StreamHandle stream, std::size_t i, const float* parameters,
                               std::byte* workspace) const {
  const GraphNode& node = graph_.nodes[i];
  OpMemory memory;
  memory.stream = stream;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    memory.inputs[k] = value(node.inputs[k], workspace);
  }
  for (std::size_t k = 0; k < node.parameters.size(); ++k) {
    memory.parameters[k] = parameters + layout_.offsets[at(node.parameters[k])];
  }
  memory.output = value(static_cast<int>(i), workspace);
  memory.prepared = block(workspace, memory_.nodes[i].prepared);
  memory.saved = block(workspace, memory_.nodes[i].saved);
  memory.scratch = workspace + memory_.scratch;
  const Inputs batch = inputs(workspace);
  memory.ids = batch.ids;
  memory.random = batch.random;
  return memory;
}

void CudaPlan::prepare(StreamHandle stream, const float* parameters, std::byte* workspace) const {
  const Operations& operations = operations_.begin()->second;  // the same form for any number of samples
  WeightPadding padding(stream, type_);
  for (std::size_t i = 1; i < operations.nodes.size(); ++i) {
    if (!operations.nodes[i].prepare) continue;
    OpMemory memory = node_memory(stream, i, parameters, workspace);
    memory.padding = &padding;
    operations.nodes[i].prepare(memory);
  }
  padding.run();
}

void CudaPlan::forward(StreamHandle stream, int samples, const float* parameters, LeafResult* result,
                       std::byte* workspace) const {
  for (std::size_t i = 1; i < graph_.nodes.size(); ++i) {
    forward_node(stream, i, samples, parameters, workspace);
  }
  loss(stream, samples, result, workspace);
}

void CudaPlan::forward_node(StreamHandle stream, std::size_t i, int samples, const float* parameters,
                            std::byte* workspace) const {
  if (is_left_out(graph_.nodes[i])) return;
  operations_for(samples).nodes[i].forward(node_memory(stream, i, parameters, workspace));
}

void CudaPlan::loss(StreamHandle stream, int samples, LeafResult* result, std::byte* workspace) const {
  const Inputs batch = inputs(workspace);
  OpMemory memory;
  memory.stream = stream;
  memory.inputs[0] = value(graph_.output, workspace);
  memory.grad_inputs[0] = gradient(graph_.output, workspace);
  memory.labels = batch.labels;
  memory.other_labels = batch.other_labels;
  memory.shares = batch.shares;
  memory.predictions = reinterpret_cast<std::int32_t*>(workspace + memory_.predictions);
  memory.scratch = workspace + memory_.scratch;
  memory.result = result;
  operations_for(samples).loss.forward(memory);
}

void CudaPlan::backward(StreamHandle stream, int samples, NodeRange nodes, const float* parameters,
                        float* gradients, std::byte* workspace) const {
  if (nodes.end == graph_.nodes.size()) {
    for (const ArenaRange& range : cleared_) {  // sums of gradients add up what is there
      fill_zeros(stream, range.end - range.begin, gradients + range.begin);
    }
  }
  GradientFinish finish(stream, type_);
  for (std::size_t i = nodes.end; i-- > nodes.begin;) {
    OpMemory memory = node_memory(stream, i, parameters, workspace);
    memory.finish = &finish;
    run_backward(i, samples, memory, gradients, workspace);
    if (buckets_.ends[i]) finish.run();
  }
  finish.run();
}

std::vector<GradientPart> CudaPlan::parts() const {
  std::vector<GradientPart> parts;
  std::size_t end = graph_.nodes.size();
  for (std::size_t i = end; i-- > 2;) {
    if (!buckets_.ends[i]) continue;
    parts.push_back({{i, end}, written_from_[i]});
    end = i;
  }
  parts.push_back({{1, end}, 0});
  return parts;
}

void CudaPlan::run_backward(std::size_t i, int samples, OpMemory memory, float* gradients,
                            std::byte* workspace) const {
  if (!flow_.needed[i]) return;
  const GraphNode& node = graph_.nodes[i];
  memory.left = workspace + buckets_offset() + buckets_.offsets[i];
  memory.grad_output = gradient(static_cast<int>(i), workspace);
  for (std::size_t k = 0; k < node.parameters.size(); ++k) {
    memory.grad_parameters[k] = gradients + layout_.offsets[at(node.parameters[k])];
  }
  if (joins_[i].reader >= 0) memory.more_grad_output = workspace + memory_.aside[joins_[i].input];
  const auto& contributions = flow_.contributions[i];
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (contributions[k].wanted) {
      memory.grad_inputs[k] =
          contributions[k].first ? gradient(node.inputs[k], workspace) : workspace + memory_.aside[k];
    }
  }
  operations_for(samples).nodes[i].backward(memory);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const bool joined = joins_[at(node.inputs[k])].reader == static_cast<int>(i);
    if (contributions[k].wanted && !contributions[k].first && !joined) {
      void* const sum = gradient(node.inputs[k], workspace);
      const std::size_t bytes = value_bytes(at(node.inputs[k]), samples);
      add(memory.stream, type_, bytes / bytes_of(type_) / channel_unit, sum, memory.grad_inputs[k], sum);
    }
  }
}

}  // namespace lockstep::cuda
