#pragma once

#include <random>

#include "ops/cpu/cpu_plan.h"
#include "ops/cuda/cuda_plan.h"
#include "ops/lanes.h"
#include "padded_tensor.h"
#include "support/host_micro_batch.h"

namespace lockstep::testing {

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
  bool mixes;  ///< whether labels are mixed; images count as mixed already
  std::vector<std::int32_t> labels, partner_labels;
  std::vector<float> shares;
  std::vector<std::uint64_t> ids;
  RandomKey random{.seed = 5, .epoch = 2};
};

struct NetworkResults {
  LeafResult leaf;
  std::vector<std::int32_t> predictions;
  std::vector<float> gradients;  ///< an arena; empty: not a training plan
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

inline NetworkResults run_on_cpu(const Network& network, const PlanOptions& options,
                                 const NetworkInputs& inputs, const std::vector<float>& parameters) {
  const int samples = inputs.images.samples;
  const ArenaLayout layout = layout_arena(network.parameters());
  const cpu::CpuPlan plan(build_graph(network), layout, options, cpu::best_level());
  const std::vector<float> pixels(inputs.images.values.begin(), inputs.images.values.end());
  const HostMicroBatch host(static_cast<std::size_t>(samples), inputs.mixes);
  const MicroBatch& batch = host.batch;
  inputs.write_arrays(batch);
  for (int i = 0; i < samples; ++i) {
    batch.samples[i] = reinterpret_cast<const std::byte*>(&pixels[inputs.images.index(i, 0, 0, 0)]);
  }
  Lanes workspace(plan.workspace_bytes() / sizeof(float));
  auto* bytes = reinterpret_cast<std::byte*>(workspace.data());
  Lanes arena(layout.elements);
  std::copy(parameters.begin(), parameters.end(), arena.data());
  Lanes gradients(options.training ? layout.elements : 0);
  std::fill_n(gradients.data(), gradients.size(), 0.0F);
  plan.load(batch, {.shape = network.input_shape(), .floats = true}, bytes);
  MicroBatch unmixed = batch;
  unmixed.shares = nullptr;
  plan.load(unmixed, {.shape = network.input_shape(), .floats = true}, bytes);
  NetworkResults results;
  plan.forward(batch, plan.all_and_loss(), arena.data(), &results.leaf, bytes);
  const auto predictions = plan.predictions(batch, bytes);
  results.predictions.assign(predictions.begin(), predictions.end());
  if (options.training) plan.backward(batch, plan.all(), arena.data(), gradients.data(), bytes);
  results.gradients.assign(gradients.data(), gradients.data() + gradients.size());
  return results;
}

/// A network on the CUDA backend, with memory for one executor.
class NetworkOnCuda {
 public:
  /// `sizes`: of micro-batches besides options.samples.
  NetworkOnCuda(const Network& network, const PlanOptions& options, cuda::Type type,
                const std::vector<int>& sizes = {})
      : NetworkOnCuda(network, build_graph(network), options, type, sizes) {}

  /// `graph`: of the network.
  NetworkOnCuda(const Network& network, const Graph& graph, const PlanOptions& options, cuda::Type type,
                const std::vector<int>& sizes = {})
      : network_(network),
        options_(options),
        layout_(layout_arena(network.parameters())),
        plan_(graph, layout_, options, type, dnn_under_test()) {
    for (const int samples : sizes) plan_.compile_for(samples);
    workspace_ = DeviceMemory(plan_.workspace_bytes());
    parameters_ = DeviceMemory(layout_.elements * sizeof(float));
    gradients_ = DeviceMemory(layout_.elements * sizeof(float));
  }

  /// Called when gradients from `begin` on are final; may enqueue work.
  std::function<void(cuda::StreamHandle, float* gradients, std::size_t begin)> ready = {};

  NetworkResults run(const NetworkInputs& inputs, const std::vector<float>& parameters) {
    const int samples = inputs.images.samples;
    load(inputs);
    parameters_.store(parameters);
    if (options_.training) spoil_gradients();
    run_on_device([&](cuda::StreamHandle stream) {
      auto* result = reinterpret_cast<LeafResult*>(result_.data());
      plan_.prepare(stream, parameters_.floats(), workspace_.data());
      plan_.forward(stream, batch_, plan_.all_and_loss(), parameters_.floats(), result, workspace_.data());
      if (!options_.training) return;
      for (const GradientPart& part : plan_.parts()) {
        plan_.backward(stream, batch_, part.nodes, parameters_.floats(), gradients_.floats(),
                       workspace_.data());
        if (ready) ready(stream, gradients_.floats(), part.final_from);
      }
    });
    NetworkResults results;
    Device& device = device_under_test();
    device.copy(&results.leaf, result_.data(), sizeof results.leaf);
    results.predictions.resize(static_cast<std::size_t>(samples));
    device.copy(results.predictions.data(), plan_.predictions(workspace_.data()),
                results.predictions.size() * sizeof(std::int32_t));
    if (options_.training) results.gradients = gradients_.fetch_floats();
    return results;
  }

  /// Repeats the last run of a plan with nodes apart, node by node from first to last, each backward twice.
  std::vector<float> gradients_of_nodes() {
    spoil_gradients();
    const std::size_t nodes = build_graph(network_).nodes.size();
    run_on_device([&](cuda::StreamHandle stream) {
      auto* result = reinterpret_cast<LeafResult*>(result_.data());
      for (std::size_t i = nodes; i-- > 1;) {
        plan_.forward(stream, batch_, {i, i + 1}, parameters_.floats(), result, workspace_.data());
      }
      plan_.forward(stream, batch_, {nodes, nodes + 1}, parameters_.floats(), result, workspace_.data());
      for (std::size_t i = 2; i < 2 * nodes; ++i) {
        plan_.backward(stream, batch_, {i / 2, i / 2 + 1}, parameters_.floats(), gradients_.floats(),
                       workspace_.data());
      }
    });
    return gradients_.fetch_floats();
  }

  bool stayed_inside() const {
    return workspace_.end_intact() && parameters_.end_intact() && gradients_.end_intact() &&
           result_.end_intact();
  }
  const ArenaLayout& layout() const { return layout_; }
  cuda::CudaPlan& plan() { return plan_; }

 private:
  /// Writes the plan's images, as the kernel that gathers them does.
  void load(const NetworkInputs& inputs) {
    const Shape full = inputs.images.shape;
    const Shape shape = plan_.image_shape();
    Tensor images(inputs.images.samples, {full.channels, shape.height, shape.width});
    for (std::size_t i = 0; i < images.values.size(); ++i) {
      const auto column = static_cast<int>(i % static_cast<std::size_t>(shape.width));
      const auto line = static_cast<int>(i / static_cast<std::size_t>(shape.width));
      const int plane = line / shape.height;
      images.values[i] =
          inputs.images.at(plane / full.channels, plane % full.channels, line % shape.height, column);
    }
    const PaddedTensor padded(plan_.type(), images);
    copy_to(plan_.images(workspace_.data()), padded.bytes());
    const HostMicroBatch host(static_cast<std::size_t>(images.samples), inputs.mixes);
    inputs.write_arrays(host.batch);
    block_ = DeviceMemory(host.block.size());
    copy_to(block_.data(), host.block);
    batch_ = host.layout.arrays(block_.data(), host.batch.size);
  }

  template <class Value>
  static void copy_to(void* to, const std::vector<Value>& values) {
    device_under_test().copy(to, values.data(), values.size() * sizeof(Value));
  }

  /// Sets all gradients to NaN, and gaps to zero.
  void spoil_gradients() const {
    std::vector<float> values(layout_.elements, 0.0F);
    for (std::size_t p = 0; p < layout_.offsets.size(); ++p) {
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(layout_.offsets[p]),
                  network_.parameters()[p].size(), std::numeric_limits<float>::quiet_NaN());
    }
    gradients_.store(values);
  }

  const Network& network_;
  PlanOptions options_;
  ArenaLayout layout_;
  cuda::CudaPlan plan_;
  DeviceMemory workspace_, block_, parameters_, gradients_;
  MicroBatch batch_;  ///< loaded last
  DeviceMemory result_{sizeof(LeafResult)};
};

}  // namespace lockstep::testing
