#include <algorithm>

#include "ops/cpu/kernels/batch_norm.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

template <class Element>
struct BatchNormLayer {
  const BatchNormFunctions<Element>* functions;
  int channels;
  std::size_t plane;
  float eps;
  bool add;
  ActivationKind activation;
  bool training;
  bool stream_output;
  bool stream_gradients;  ///< of the inputs
};

/// Statistics of each channel, saved by forward.
struct Saved {
  float* mean;
  float* variance;
  float* inverse_deviation;
};

template <class Element>
Saved saved_of(const BatchNormLayer<Element>& layer, const NodeMemory<Element>& memory) {
  auto* floats = reinterpret_cast<float*>(memory.saved);
  return {floats, floats + layer.channels, floats + 2 * static_cast<std::size_t>(layer.channels)};
}

template <class Element>
BatchNormShape shape_of(const BatchNormLayer<Element>& layer, const NodeMemory<Element>& memory,
                        bool stream) {
  return {.groups = groups_of(memory.samples),
          .samples = memory.samples,
          .channels = layer.channels,
          .plane = layer.plane,
          .stream = stream};
}

/// `measures`: whether to compute and save the statistics instead of reading saved ones.
template <class Element>
void normalize(const BatchNormLayer<Element>& layer, const NodeMemory<Element>& memory, bool measures) {
  const Saved saved = saved_of(layer, memory);
  layer.functions->forward({.shape = shape_of(layer, memory, layer.stream_output),
                            .training = measures,
                            .activation = layer.activation,
                            .eps = layer.eps,
                            .input = memory.inputs[0],
                            .residual = layer.add ? memory.inputs[1] : nullptr,
                            .weight = memory.parameters[0],
                            .bias = memory.parameters[1],
                            .output = memory.output,
                            .mean = saved.mean,
                            .variance = saved.variance,
                            .inverse_deviation = saved.inverse_deviation});
}

template <class Element>
void forward(const BatchNormLayer<Element>& layer, const NodeMemory<Element>& memory) {
  if (!layer.training) {
    const Saved saved = saved_of(layer, memory);
    std::copy_n(memory.parameters[2], layer.channels, saved.mean);
    std::copy_n(memory.parameters[3], layer.channels, saved.variance);
  }
  normalize(layer, memory, layer.training);
}

/// Writes samples * (mean, unbiased variance) of the micro-batch as gradients of the running statistics.
template <class Element>
void observe(const BatchNormLayer<Element>& layer, const NodeMemory<Element>& memory, const Saved& saved) {
  const auto samples = static_cast<float>(memory.samples);
  const double n = static_cast<double>(memory.samples) * static_cast<double>(layer.plane);
  const auto unbiased = static_cast<float>(n > 1.0 ? n / (n - 1.0) : 1.0);
  for (int channel = 0; channel < layer.channels; ++channel) {
    memory.grad_parameters[2][channel] = samples * saved.mean[channel];
    memory.grad_parameters[3][channel] = samples * (saved.variance[channel] * unbiased);
  }
}

template <class Element>
void backward(const BatchNormLayer<Element>& layer, const NodeMemory<Element>& memory) {
  const Saved saved = saved_of(layer, memory);
  observe(layer, memory, saved);
  layer.functions->backward({.shape = shape_of(layer, memory, layer.stream_gradients),
                             .activation = layer.activation,
                             .input = memory.inputs[0],
                             .output = layer.add ? memory.output : nullptr,
                             .grad_output = memory.grad_output,
                             .weight = memory.parameters[0],
                             .bias = memory.parameters[1],
                             .mean = saved.mean,
                             .inverse_deviation = saved.inverse_deviation,
                             .grad_input = memory.grad_inputs[0],
                             .grad_residual = layer.add ? memory.grad_inputs[1] : nullptr,
                             .grad_weight = memory.grad_parameters[0],
                             .grad_bias = memory.grad_parameters[1]});
}

ActivationKind activation_of(const GraphNode::Epilogue& epilogue) {
  if (epilogue.relu) {
    return ActivationKind::relu;
  }
  return epilogue.relu6 ? ActivationKind::relu6 : ActivationKind::none;
}

template <class Element>
Op plan_batch_norm(const BatchNorm2d& norm, const OpRequest& request) {
  const Shape& shape = request.node.shape;
  const BatchNormLayer<Element> layer{
      .functions = &functions_of<Element>(batch_norm_kernels(request.level)),
      .channels = shape.channels,
      .plane = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width),
      .eps = static_cast<float>(norm.eps),
      .add = request.node.epilogue.add,
      .activation = activation_of(request.node.epilogue),
      .training = request.training,
      .stream_output = streams_output<Element>(request),
      .stream_gradients = streams_grad_input<Element>(request)};
  Op op = op_of<Element>(layer);
  op.saved_bytes = 3 * static_cast<std::size_t>(layer.channels) * sizeof(float);
  op.recompute = [layer](const NodeMemory<Element>& memory) { normalize(layer, memory, false); };
  op.backward_reads_inputs = 1;
  op.backward_reads_output = layer.add && layer.activation != ActivationKind::none;
  return op;
}

}  // namespace

Op plan(const BatchNorm2d& norm, const OpRequest& request) {
  return plan_as_stored(request,
                        [&]<class Element>(Element) { return plan_batch_norm<Element>(norm, request); });
}

}  // namespace lockstep::cpu
