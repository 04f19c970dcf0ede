#include "ops/cpu/cpu_plan.h"

#include <algorithm>
#include <variant>

#include "graph/memory_plan.h"
#include "lockstep/error.h"
#include "ops/cpu/level.h"

namespace lockstep::cpu {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Offsets of one node's memory in a workspace; `none` where it has no such block.
constexpr std::size_t none = static_cast<std::size_t>(-1);
struct Places {
  std::size_t value = none;
  std::size_t gradient = none;
  std::size_t saved = none;
};

/// A contribution to a gradient that has another one already: computed aside, then added.
struct Contribution {
  bool wanted = false;
  bool first = false;
};

class CpuPlan : public Plan {
 public:
  CpuPlan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options, Level level)
      : graph_(graph),
        layout_(layout),
        options_(options),
        gather_(gather_group(level)),
        add_(kernels_of(level).add) {
    find_needed_gradients();
    for (const GraphNode& node : graph_.nodes) {
      const auto position = static_cast<int>(ops_.size());
      ops_.push_back(plan_op(request(node, level, position)));
    }
    loss_ = plan_cross_entropy(graph_.nodes[at(graph_.output)].shape, options.label_smoothing, level);
    find_contributions();
    place();
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
    std::copy(batch.ids.begin(), batch.ids.end(), reinterpret_cast<std::uint64_t*>(workspace + ids_));
    *reinterpret_cast<RandomKey*>(workspace + random_) = batch.random;
    load_labels(batch.labels, -1, reinterpret_cast<std::int32_t*>(workspace + labels_));
    if (options_.mixing) {
      load_labels(batch.other_labels, -1, reinterpret_cast<std::int32_t*>(workspace + other_labels_));
      load_labels(batch.share, 1.0F, reinterpret_cast<float*>(workspace + shares_));
    }
  }

  LeafResult forward(int samples, const float* parameters, std::byte* workspace) const override {
    if (samples == 0) {
      return {};
    }
    for (std::size_t i = 1; i < ops_.size(); ++i) {
      ops_[i].forward(node_memory(i, samples, parameters, nullptr, workspace));
    }
    LeafResult result;
    OpMemory memory;
    memory.samples = samples;
    memory.inputs[0] = value(graph_.output, workspace);
    memory.grad_inputs[0] = gradient(graph_.output, workspace);
    memory.labels = reinterpret_cast<const std::int32_t*>(workspace + labels_);
    if (options_.mixing) {
      memory.other_labels = reinterpret_cast<const std::int32_t*>(workspace + other_labels_);
      memory.shares = reinterpret_cast<const float*>(workspace + shares_);
    }
    memory.predictions = reinterpret_cast<std::int32_t*>(workspace + predictions_);
    memory.scratch = workspace + scratch_;
    memory.result = &result;
    loss_.forward(memory);
    result.samples = static_cast<std::uint64_t>(samples);
    return result;
  }

  std::span<const std::int32_t> predictions(int samples, const std::byte* workspace) const override {
    return {reinterpret_cast<const std::int32_t*>(workspace + predictions_),
            static_cast<std::size_t>(samples)};
  }

  void backward(int samples, const float* parameters, float* gradients, std::byte* workspace) const override {
    if (samples == 0) {
      std::fill_n(gradients, layout_.elements, 0.0F);
      return;
    }
    for (std::size_t i = ops_.size(); i-- > 1;) {
      if (needs_gradient_[i]) {
        backward_node(i, samples, parameters, gradients, workspace);
      } else {
        clear_frozen(i, gradients);
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
    OpRequest request{node, {}, options_.samples, options_.training, false, level, position};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      request.inputs[i] = graph_.nodes[at(node.inputs[i])].shape;
    }
    request.input_gradient = any_needs_gradient(node.inputs);
    return request;
  }

  bool is_frozen(int parameter) const { return !options_.frozen.empty() && options_.frozen[at(parameter)]; }

  bool any_needs_gradient(const std::vector<int>& ids) const {
    return std::ranges::any_of(ids, [this](int id) { return needs_gradient_[at(id)]; });
  }

  /// A node's gradient is wanted when it or anything before it has parameters that are not frozen. Inputs
  /// come before what reads them.
  void find_needed_gradients() {
    needs_gradient_.assign(graph_.nodes.size(), false);
    if (!options_.training) return;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      needs_gradient_[i] =
          any_needs_gradient(node.inputs) ||
          std::ranges::any_of(node.parameters, [this](int parameter) { return !is_frozen(parameter); });
    }
  }

  /// Sums of gradients add up what is there.
  void clear_frozen(std::size_t i, float* gradients) const {
    for (const int parameter : graph_.nodes[i].parameters) {
      const bool last = at(parameter) + 1 == layout_.offsets.size();
      const std::size_t end = last ? layout_.elements : layout_.offsets[at(parameter) + 1];
      std::fill(gradients + layout_.offsets[at(parameter)], gradients + end, 0.0F);
    }
  }

  /// Backward runs from the last node to the first; the first contribution to a gradient is written in
  /// place, later ones are added in that order.
  void find_contributions() {
    contributions_.resize(graph_.nodes.size());
    std::vector<bool> seen(graph_.nodes.size(), false);
    for (std::size_t i = graph_.nodes.size(); i-- > 1;) {
      const auto& inputs = graph_.nodes[i].inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        contributions_[i][k].wanted = needs_gradient_[at(inputs[k])];
        contributions_[i][k].first = !seen[at(inputs[k])];
        seen[at(inputs[k])] = true;
      }
    }
  }

  std::size_t value_bytes(std::size_t id) const {
    return static_cast<std::size_t>(groups_of(options_.samples)) * lanes * graph_.nodes[id].shape.size() *
           sizeof(float);
  }

  /// Time is 0 .. n-1 forward, n the loss, then backward: node i at 2n - i.
  void place() {
    const int n = static_cast<int>(graph_.nodes.size());
    places_.resize(graph_.nodes.size());
    std::vector<Block> blocks;
    std::vector<std::size_t*> targets;
    const auto add = [&](std::size_t bytes, int first, int last, std::size_t* target) {
      blocks.push_back({bytes, first, last});
      targets.push_back(target);
    };
    for (int i = 0; i < n; ++i) {
      add(value_bytes(at(i)), i, last_read(i), &places_[at(i)].value);
      if (needs_gradient_[at(i)]) {
        add(value_bytes(at(i)), first_gradient(i), 2 * n - i, &places_[at(i)].gradient);
      }
      if (ops_[at(i)].saved_bytes > 0) {
        add(ops_[at(i)].saved_bytes, i, needs_gradient_[at(i)] ? 2 * n - i : i, &places_[at(i)].saved);
      }
    }
    std::size_t scratch = loss_.scratch_bytes;
    std::array<std::size_t, max_inputs> aside{};
    for (std::size_t i = 1; i < ops_.size(); ++i) {
      scratch = std::max(scratch, ops_[i].scratch_bytes);
      for (std::size_t k = 0; k < graph_.nodes[i].inputs.size(); ++k) {
        if (contributions_[i][k].wanted && !contributions_[i][k].first) {
          aside[k] = std::max(aside[k], value_bytes(at(graph_.nodes[i].inputs[k])));
        }
      }
    }
    add(scratch, 0, 2 * n, &scratch_);
    for (std::size_t k = 0; k < max_inputs; ++k) {
      add(aside[k], n, 2 * n, &aside_[k]);
    }
    const std::size_t samples = static_cast<std::size_t>(groups_of(options_.samples)) * lanes;
    add(samples * sizeof(std::int32_t), 0, n, &labels_);
    add(samples * sizeof(std::int32_t), n, 2 * n, &predictions_);
    add(options_.mixing ? samples * sizeof(std::int32_t) : 0, 0, n, &other_labels_);
    add(options_.mixing ? samples * sizeof(float) : 0, 0, n, &shares_);
    add(samples * sizeof(std::uint64_t), 0, n, &ids_);
    add(sizeof(RandomKey), 0, n, &random_);

    memory_ = plan_memory(blocks);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      *targets[i] = memory_.offsets[i];
    }
  }

  int last_read(int id) const {
    const int n = static_cast<int>(graph_.nodes.size());
    int last = id == graph_.output ? n : id;
    if (needs_gradient_[at(id)] && ops_[at(id)].backward_reads_output) {
      last = 2 * n - id;
    }
    for (int i = 0; i < n; ++i) {
      const auto& inputs = graph_.nodes[at(i)].inputs;
      if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) {
        last = std::max(last, needs_gradient_[at(i)] && ops_[at(i)].backward_reads_inputs ? 2 * n - i : i);
      }
    }
    return last;
  }

  int first_gradient(int id) const {
    const int n = static_cast<int>(graph_.nodes.size());
    int first = id == graph_.output ? n : 2 * n - id;
    for (int i = 0; i < n; ++i) {
      const auto& inputs = graph_.nodes[at(i)].inputs;
      if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) {
        first = std::min(first, 2 * n - i);
      }
    }
    return first;
  }

  float* value(int id, std::byte* workspace) const {
    return reinterpret_cast<float*>(workspace + places_[at(id)].value);
  }
  float* gradient(int id, std::byte* workspace) const {
    const std::size_t place = places_[at(id)].gradient;
    return place == none ? nullptr : reinterpret_cast<float*>(workspace + place);
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
    memory.ids = reinterpret_cast<const std::uint64_t*>(workspace + ids_);
    memory.random = *reinterpret_cast<const RandomKey*>(workspace + random_);
    memory.output = value(static_cast<int>(i), workspace);
    memory.saved = places_[i].saved == none ? nullptr : workspace + places_[i].saved;
    memory.scratch = workspace + scratch_;
    return memory;
  }

  void backward_node(std::size_t i, int samples, const float* parameters, float* gradients,
                     std::byte* workspace) const {
    const GraphNode& node = graph_.nodes[i];
    OpMemory memory = node_memory(i, samples, parameters, gradients, workspace);
    memory.grad_output = gradient(static_cast<int>(i), workspace);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (contributions_[i][k].wanted) {
        memory.grad_inputs[k] = contributions_[i][k].first ? gradient(node.inputs[k], workspace)
                                                           : reinterpret_cast<float*>(workspace + aside_[k]);
      }
    }
    ops_[i].backward(memory);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (contributions_[i][k].wanted && !contributions_[i][k].first) {
        add_aside(node.inputs[k], samples, memory.grad_inputs[k], workspace);
      }
    }
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
  std::vector<bool> needs_gradient_;  ///< by node; of training plans only
  std::vector<Op> ops_;
  Op loss_;
  std::vector<std::array<Contribution, max_inputs>> contributions_;
  std::vector<Places> places_;
  std::size_t scratch_ = 0;
  std::array<std::size_t, max_inputs> aside_{};
  std::size_t labels_ = 0;
  std::size_t predictions_ = 0;
  std::size_t other_labels_ = 0;
  std::size_t shares_ = 0;
  std::size_t ids_ = 0;
  std::size_t random_ = 0;
  MemoryPlan memory_;
};

}  // namespace

std::unique_ptr<Plan> make_plan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options,
                                Level level) {
  return std::make_unique<CpuPlan>(graph, layout, options, level);
}

}  // namespace lockstep::cpu
