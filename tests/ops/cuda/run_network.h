#pragma once

#include <utility>

#include "ops/cuda/cuda_plan.h"
#include "ops/cuda/padded_tensor.h"
#include "ops/reference.h"
#include "ops/run_network.h"

namespace lockstep::test {

class NetworkOnCuda final : public CompiledNetwork {
 public:
  /// `sizes`: micro-batch sizes to compile for, in addition to options.samples.
  NetworkOnCuda(const Network& network, const PlanOptions& options, cuda::Type type,
                const std::vector<int>& sizes = {})
      : NetworkOnCuda(network, build_graph(network), options, type, sizes) {}

  /// `graph`: graph of `network`.
  NetworkOnCuda(const Network& network, const Graph& graph, const PlanOptions& options, cuda::Type type,
                const std::vector<int>& sizes = {})
      : network_(network),
        options_(options),
        nodes_(graph.nodes.size()),
        layout_(layout_arena(network.parameters())),
        plan_(graph, layout_, options, type, dnn_under_test()) {
    for (const int samples : sizes) plan_.compile_for(samples);
    workspace_ = DeviceMemory(plan_.workspace_bytes());
    parameters_ = DeviceMemory(layout_.elements * sizeof(float));
    gradients_ = DeviceMemory(layout_.elements * sizeof(float));
  }

  /// Called when gradients from `begin` on are final; may enqueue work.
  std::function<void(cuda::StreamHandle, float* gradients, std::size_t begin)> ready = {};

  /// Prepares the parameters unless they are the same as in the previous run.
  NetworkResults run(const NetworkInputs& inputs, const std::vector<float>& parameters) override {
    const int samples = inputs.images.samples;
    load(inputs);
    parameters_.store(parameters);
    const bool known = std::exchange(prepared_, parameters) == parameters;
    if (options_.training) gradients_.store(spoiled_gradients(network_));
    run_on_device([&](cuda::StreamHandle stream) {
      auto* result = reinterpret_cast<LeafResult*>(result_.data());
      if (!known) plan_.prepare(stream, parameters_.floats(), workspace_.data());
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
    if (options_.training) results.gradients = gradients_.fetch<float>();
    return results;
  }

  std::vector<float> gradients_of_nodes() override {
    gradients_.store(spoiled_gradients(network_));
    run_on_device([&](cuda::StreamHandle stream) {
      run_nodes(
          nodes_,
          [&](NodeRange range) {
            auto* result = reinterpret_cast<LeafResult*>(result_.data());
            plan_.forward(stream, batch_, range, parameters_.floats(), result, workspace_.data());
          },
          [&](NodeRange range) {
            plan_.backward(stream, batch_, range, parameters_.floats(), gradients_.floats(),
                           workspace_.data());
          });
    });
    return gradients_.fetch<float>();
  }

  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  bool stayed_inside() const override {
    return workspace_.end_intact() && parameters_.end_intact() && gradients_.end_intact() &&
           result_.end_intact();
  }
  const ArenaLayout& layout() const { return layout_; }
  cuda::CudaPlan& plan() { return plan_; }

 private:
  /// Writes the images as the gather kernel does.
  void load(const NetworkInputs& inputs) {
    const Shape shape = plan_.image_shape();
    Tensor images(inputs.images.samples, {inputs.images.shape.channels, shape.height, shape.width});
    for_each_index(images,
                   [&](int n, int c, int h, int w) { images.at(n, c, h, w) = inputs.images.at(n, c, h, w); });
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

  const Network& network_;
  PlanOptions options_;
  std::size_t nodes_;
  ArenaLayout layout_;
  cuda::CudaPlan plan_;
  DeviceMemory workspace_, block_, parameters_, gradients_;
  std::vector<float> prepared_;  ///< last prepared parameters
  MicroBatch batch_;             ///< last loaded
  DeviceMemory result_{sizeof(LeafResult)};
};

}  // namespace lockstep::test
