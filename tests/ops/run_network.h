#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <random>

#include "ops/cpu/cpu_plan.h"
#include "ops/lanes.h"
#include "support/host_micro_batch.h"

namespace lockstep::test {

/// A micro-batch of random inputs.
struct NetworkInputs {
  NetworkInputs(const Network& network, int samples, unsigned seed, bool mixing = false)
      : images(samples, network.input_shape()), mixes(mixing) {
    std::mt19937 generator(seed);
    const auto uniform = [&] { return static_cast<float>(generator()) / 4294967296.0F; };
    for (double& value : images.values) value = static_cast<double>(2.0F * uniform() - 1.0F);
    for (int i = 0; i < samples; ++i) {
      labels.push_back(static_cast<std::int32_t>(generator() % static_cast<unsigned>(network.classes())));
      partner_labels.push_back(
          static_cast<std::int32_t>(generator() % static_cast<unsigned>(network.classes())));
      shares.push_back(uniform());
      ids.push_back(generator());
    }
  }
  /// Writes all arrays except the samples.
  void write_arrays(const MicroBatch& batch) const {
    std::ranges::copy(labels, batch.labels);
    std::ranges::copy(ids, batch.ids);
    *batch.random = random;
    if (!mixes) return;
    std::ranges::copy(partner_labels, batch.partner_labels);
    std::ranges::copy(shares, batch.shares);
  }

  Tensor images;
  bool mixes;  ///< whether labels are mixed; images are taken as already mixed
  std::vector<std::int32_t> labels, partner_labels;
  std::vector<float> shares;
  std::vector<std::uint64_t> ids;
  RandomKey random{.seed = 5, .epoch = 2};
};

struct NetworkResults {
  LeafResult leaf;
  std::vector<std::int32_t> predictions;
  std::vector<float> gradients;  ///< laid out as in an arena; empty unless the plan is for training
};

/// Initial parameters of the network, with random values added to biases and running statistics.
inline std::vector<float> first_parameters(const Network& network) {
  const ArenaLayout layout = layout_arena(network.parameters());
  std::vector<float> arena(layout.elements, 0.0F);
  initialize_parameters(network.parameters(), layout, 1, arena.data());
  std::mt19937 generator(7);
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    const Parameter& parameter = network.parameters()[p];
    if (parameter.shape.size() != 1) continue;
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      arena[layout.offsets[p] + i] += 0.25F * static_cast<float>(generator()) / 4294967296.0F;
    }
  }
  return arena;
}

/// Gradients that the run must overwrite: NaN, with zeros between parameters.
inline std::vector<float> spoiled_gradients(const Network& network) {
  const ArenaLayout layout = layout_arena(network.parameters());
  std::vector<float> values(layout.elements, 0.0F);
  for (std::size_t p = 0; p < layout.offsets.size(); ++p) {
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(layout.offsets[p]),
                network.parameters()[p].size(), std::numeric_limits<float>::quiet_NaN());
  }
  return values;
}

/// A network compiled for a backend, with memory for one executor.
class CompiledNetwork {
 public:
  virtual ~CompiledNetwork() = default;
  virtual NetworkResults run(const NetworkInputs& inputs, const std::vector<float>& parameters) = 0;
  /// Repeats the last run of a plan with `nodes_apart`, one node at a time: forward from last to first,
  /// backward twice each from first to last.
  virtual std::vector<float> gradients_of_nodes() = 0;
  virtual std::size_t workspace_bytes() const = 0;
  virtual bool stayed_inside() const = 0;

 protected:
  /// Calls forward(range) and backward(range) for gradients_of_nodes().
  static void run_nodes(std::size_t nodes, const auto& forward, const auto& backward) {
    for (std::size_t i = nodes; i-- > 1;) forward(NodeRange{i, i + 1});
    forward(NodeRange{nodes, nodes + 1});
    for (std::size_t i = 2; i < 2 * nodes; ++i) backward(NodeRange{i / 2, i / 2 + 1});
  }
};

class NetworkOnCpu final : public CompiledNetwork {
 public:
  NetworkOnCpu(const Network& network, const Graph& graph, const PlanOptions& options,
               cpu::Level level = cpu::best_level(), DataType dtype = DataType::fp32)
      : network_(network),
        options_(options),
        nodes_(graph.nodes.size()),
        plan_(graph, layout_arena(network.parameters()), options, level, dtype),
        workspace_(plan_.workspace_bytes() / sizeof(float)),
        gradients_(options.training ? layout_arena(network.parameters()).elements : 0) {}

  NetworkResults run(const NetworkInputs& inputs, const std::vector<float>& parameters) override {
    const auto samples = static_cast<std::size_t>(inputs.images.samples);
    const std::vector<float> pixels(inputs.images.values.begin(), inputs.images.values.end());
    host_.emplace(samples, inputs.mixes);
    inputs.write_arrays(host_->batch);
    for (std::size_t i = 0; i < samples; ++i) {
      host_->batch.samples[i] = reinterpret_cast<const std::byte*>(&pixels[i * inputs.images.shape.size()]);
    }
    parameters_ = Lanes(parameters.size());
    std::ranges::copy(parameters, parameters_.data());
    spoil_gradients();
    MicroBatch batch = host_->batch;
    plan_.load(batch, {.shape = network_.input_shape(), .floats = true}, bytes());
    batch.shares = nullptr;
    plan_.load(batch, {.shape = network_.input_shape(), .floats = true}, bytes());
    NetworkResults results;
    plan_.forward(host_->batch, plan_.all_and_loss(), parameters_.data(), &results.leaf, bytes());
    const auto predictions = plan_.predictions(host_->batch, bytes());
    results.predictions.assign(predictions.begin(), predictions.end());
    if (options_.training) {
      plan_.backward(host_->batch, plan_.all(), parameters_.data(), gradients_.data(), bytes());
    }
    results.gradients = gradients();
    return results;
  }

  std::vector<float> gradients_of_nodes() override {
    spoil_gradients();
    run_nodes(
        nodes_,
        [&](NodeRange range) {
          LeafResult result;
          plan_.forward(host_->batch, range, parameters_.data(), &result, bytes());
        },
        [&](NodeRange range) {
          plan_.backward(host_->batch, range, parameters_.data(), gradients_.data(), bytes());
        });
    return gradients();
  }

  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  bool stayed_inside() const override { return workspace_.end_intact() && gradients_.end_intact(); }

 private:
  std::byte* bytes() { return reinterpret_cast<std::byte*>(workspace_.data()); }
  std::vector<float> gradients() const { return {gradients_.data(), gradients_.data() + gradients_.size()}; }
  void spoil_gradients() {
    if (options_.training) std::ranges::copy(spoiled_gradients(network_), gradients_.data());
  }

  const Network& network_;
  PlanOptions options_;
  std::size_t nodes_;
  cpu::CpuPlan plan_;
  Lanes workspace_, parameters_, gradients_;
  std::optional<HostMicroBatch> host_;  ///< last loaded
};

inline NetworkResults run_on_cpu(const Network& network, const PlanOptions& options,
                                 const NetworkInputs& inputs, const std::vector<float>& parameters) {
  return NetworkOnCpu(network, build_graph(network), options).run(inputs, parameters);
}

}  // namespace lockstep::test
