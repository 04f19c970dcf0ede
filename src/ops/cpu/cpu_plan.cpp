#include "ops/cpu/cpu_plan.h"

#include <algorithm>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/plan_layout.h"

namespace lockstep::cpu {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

class CpuPlan : public Plan {
 public:
  CpuPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Level level)
      : graph_(graph),
        layout_(layout),
        options_(options),
        gather_(gather_group(level)),
        add_(elementwise_kernels(level).add),
        flow_(trace_gradients(graph, options)),
        cleared_(ranges_without_gradient(graph, layout, flow_)) {
    for (const GraphNode& node : graph_.nodes) {
      const auto position = static_cast<int>(ops_.size());
      ops_.push_back(plan_op(request(node, level, position)));
    }
    loss_ = plan_cross_entropy(graph_.nodes[at(graph_.output)].shape, options.label_smoothing, level);
    memory_ = lay_out_workspace(graph_, options_, flow_, needed_bytes());
  }

  std::size_t workspace_bytes() const override { return memory_.bytes; }

  void load(const Batch& batch, std::byte* workspace) const override {
    const int samples = static_cast<int>(batch.samples());
    const Shape& target = graph_.nodes[0].shape;
    for (int group = 0; group < groups_of(samples); ++group) {
      const int first = group * lanes;
      gather_(batch, first, options_.images, target,
              value(0, workspace) + static_cast<std::size_t>(first) * target.size());
    }
    std::copy(batch.ids.begin(), batch.ids.end(), reinterpret_cast<std::uint64_t*>(workspace + memory_.ids));
    *reinterpret_cast<RandomKey*>(workspace + memory_.random) = batch.random;
    load_labels(batch.labels, -1, reinterpret_cast<std::int32_t*>(workspace + memory_.labels));
    if (options_.mixing) {
      load_labels(batch.other_labels, -1, reinterpret_cast<std::int32_t*>(workspace + memory_.other_labels));
      load_labels(batch.share, 1.0F, reinterpret_cast<float*>(workspace + memory_.shares));
    }
  }

  LeafResult forward(int samples, const float* parameters, std::byte* workspace) const override {
    if (samples == 0) {
      return {};
    }
    for (std::size_t i = 1; i < ops_.size(); ++i) forward_node(i, samples, parameters, workspace);
    return loss(samples, workspace);
  }

  void forward_node(std::size_t node, int samples, const float* parameters,
                    std::byte* workspace) const override {
    ops_[node].forward(node_memory(node, samples, parameters, nullptr, workspace));
  }

  LeafResult loss(int samples, std::byte* workspace) const override {
    LeafResult result;
    OpMemory memory;
    memory.samples = samples;
    memory.inputs[0] = value(graph_.output, workspace);
    memory.grad_inputs[0] = gradient(graph_.output, workspace);
    memory.labels = reinterpret_cast<const std::int32_t*>(workspace + memory_.labels);
    if (options_.mixing) {
      memory.other_labels = reinterpret_cast<const std::int32_t*>(workspace + memory_.other_labels);
      memory.shares = reinterpret_cast<const float*>(workspace + memory_.shares);
    }
    memory.predictions = reinterpret_cast<std::int32_t*>(workspace + memory_.predictions);
    memory.scratch = workspace + memory_.scratch;
    memory.result = &result;
    loss_.forward(memory);
    result.samples = static_cast<std::uint64_t>(samples);
    return result;
  }

  std::span<const std::int32_t> predictions(int samples, const std::byte* workspace) const override {
    return {reinterpret_cast<const std::int32_t*>(workspace + memory_.predictions),
            static_cast<std::size_t>(samples)};
  }

  void backward(int samples, const float* parameters, float* gradients, std::byte* workspace) const override {
    if (samples == 0) {
      std::fill_n(gradients, layout_.elements, 0.0F);
      return;
    }
    for (const ArenaRange& range : cleared_) {  // sums of gradients add up what is there
      std::fill(gradients + range.begin, gradients + range.end, 0.0F);
    }
    for (std::size_t i = ops_.size(); i-- > 1;) backward_node(i, samples, parameters, gradients, workspace);
  }

  void backward_node(std::size_t i, int samples, const float* parameters, float* gradients,
                     std::byte* workspace) const override {
    if (!flow_.needed[i]) return;
    const GraphNode& node = graph_.nodes[i];
    OpMemory memory = node_memory(i, samples, parameters, gradients, workspace);
    memory.grad_output = gradient(static_cast<int>(i), workspace);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (flow_.contributions[i][k].wanted) {
        memory.grad_inputs[k] = flow_.contributions[i][k].first
                                    ? gradient(node.inputs[k], workspace)
                                    : reinterpret_cast<float*>(workspace + memory_.aside[k]);
      }
    }
    ops_[i].backward(memory);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (flow_.contributions[i][k].wanted && !flow_.contributions[i][k].first) {
        add_aside(node.inputs[k], samples, memory.grad_inputs[k], workspace);
      }
    }
  }

 private:
  /// One value per sample; missing lanes of the last group get `missing`.
  template <class Value>
  static void load_labels(std::span<const Value> values, Value missing, Value* lane) {
    const int samples = static_cast<int>(values.size());
    std::copy(values.begin(), values.end(), lane);
    std::fill(lane + samples, lane + groups_of(samples) * lanes, missing);
  }

  OpRequest request(const GraphNode& node, Level level, int position) const {
    return {.node = node,
            .inputs = input_shapes(graph_, node),
            .samples = options_.samples,
            .training = options_.training,
            .input_gradient = flow_.needed_by_any(node.inputs),
            .level = level,
            .position = position};
  }

  WorkspaceBytes needed_bytes() const {
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

  float* value(int id, std::byte* workspace) const {
    return reinterpret_cast<float*>(workspace + memory_.nodes[at(id)].value);
  }
  float* gradient(int id, std::byte* workspace) const {
    const std::size_t place = memory_.nodes[at(id)].gradient;
    return place == WorkspaceLayout::none ? nullptr : reinterpret_cast<float*>(workspace + place);
  }

  OpMemory node_memory(std::size_t i, int samples, const float* parameters, float* gradients,
                       std::byte* workspace) const {
    const GraphNode& node = graph_.nodes[i];
    OpMemory memory;
    memory.samples = samples;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      memory.inputs[k] = value(node.inputs[k], workspace);
    }
    for (std::size_t k = 0; k < node.parameters.size(); ++k) {
      const std::size_t offset = layout_.offsets[at(node.parameters[k])];
      memory.parameters[k] = parameters + offset;
      memory.grad_parameters[k] = gradients != nullptr ? gradients + offset : nullptr;
    }
    memory.ids = reinterpret_cast<const std::uint64_t*>(workspace + memory_.ids);
    memory.random = *reinterpret_cast<const RandomKey*>(workspace + memory_.random);
    memory.output = value(static_cast<int>(i), workspace);
    memory.saved =
        memory_.nodes[i].saved == WorkspaceLayout::none ? nullptr : workspace + memory_.nodes[i].saved;
    memory.scratch = workspace + memory_.scratch;
    return memory;
  }

  void add_aside(int id, int samples, const float* aside, std::byte* workspace) const {
    float* sum = gradient(id, workspace);
    add_(static_cast<std::size_t>(groups_of(samples)) * graph_.nodes[at(id)].shape.size(), sum, aside, sum);
  }

  Graph graph_;
  ArenaLayout layout_;
  PlanOptions options_;
  GatherGroup gather_;
  void (*add_)(std::size_t pixels, const float* a, const float* b, float* output);
  GradientFlow flow_;
  std::vector<ArenaRange> cleared_;  ///< of the arena of gradients, in backward
  std::vector<Op> ops_;
  Op loss_;
  WorkspaceLayout memory_;
};

}  // namespace

std::unique_ptr<Plan> make_plan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options,
                                Level level) {
  return std::make_unique<CpuPlan>(graph, layout, options, level);
}

}  // namespace lockstep::cpu
