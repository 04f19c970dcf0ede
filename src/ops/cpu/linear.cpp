#include <algorithm>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/linear.h"
#include "ops/cpu/op.h"
#include "ops/cpu/rounded_weights.h"

namespace lockstep::cpu {
namespace {

/// A linear layer whose activations are stored as `Element`.
template <class Element>
struct LinearLayer {
  const LinearFunctions<Element>* kernels;
  const ElementwiseFunctions<Element>* elementwise;
  int inputs;
  int outputs;
  bool relu;
  std::size_t grad_offset;  ///< offset in scratch memory of the gradient before the ReLU
  std::size_t work_offset;
  RoundedWeights weights;
};

template <class Element>
LinearTask<Element> task_of(const LinearLayer<Element>& layer, const NodeMemory<Element>& memory) {
  LinearTask<Element> task{};
  task.groups = groups_of(memory.samples);
  task.samples = memory.samples;
  task.inputs = layer.inputs;
  task.outputs = layer.outputs;
  task.input = memory.inputs[0];
  task.weight = memory.parameters[0];
  task.bias = memory.parameters[1];
  return task;
}

template <class Element>
std::size_t outputs_of_all_groups(const LinearTask<Element>& task) {
  return static_cast<std::size_t>(task.groups) * static_cast<std::size_t>(task.outputs);
}

template <class Element>
void forward(const LinearLayer<Element>& layer, const NodeMemory<Element>& memory) {
  LinearTask<Element> task = task_of(layer, with_rounded_weights(layer.weights, memory));
  task.output = memory.output;
  layer.kernels->forward(task);
  if (layer.relu) {
    layer.elementwise->relu(outputs_of_all_groups(task), task.output, task.output,
                            reinterpret_cast<std::uint16_t*>(memory.saved));
  }
}

template <class Element>
void backward(const LinearLayer<Element>& layer, const NodeMemory<Element>& memory) {
  LinearTask<Element> task = task_of(layer, with_rounded_weights(layer.weights, memory));
  task.grad_output = memory.grad_output;
  if (layer.relu) {
    auto* const grad = reinterpret_cast<Element*>(memory.scratch + layer.grad_offset);
    layer.elementwise->select(outputs_of_all_groups(task), 1.0F,
                              reinterpret_cast<const std::uint16_t*>(memory.saved), memory.grad_output, grad);
    task.grad_output = grad;
  }
  task.grad_input = memory.grad_inputs[0];
  task.scratch = floats_at(memory.scratch, layer.work_offset);
  if (task.grad_input != nullptr) {
    layer.kernels->backward_data(task);
  }
  task.grad_weight = memory.grad_parameters[0];
  task.grad_bias = memory.grad_parameters[1];
  layer.kernels->backward_weights(task);
}

template <class Element>
Op plan_linear(const OpRequest& request) {
  const LinearKernels& kernels = linear_kernels(request.level);
  LinearLayer<Element> layer{};
  layer.kernels = &functions_of<Element>(kernels);
  layer.elementwise = &functions_of<Element>(elementwise_kernels(request.level));
  layer.inputs = static_cast<int>(request.inputs[0].size());
  layer.outputs = request.node.shape.channels;
  layer.relu = request.node.epilogue.relu;
  const std::size_t outputs = static_cast<std::size_t>(layer.outputs) * groups_of(request.samples);
  ScratchLayout layout;
  layer.grad_offset = layout.add(layer.relu ? outputs * lanes : 0);
  layer.work_offset = layout.add(kernels.scratch(layer.inputs, layer.outputs, request.samples));
  layer.weights = place_rounded_weights(request, layout);
  Op op = op_of<Element>(layer);
  op.saved_bytes = layer.relu ? outputs * sizeof(std::uint16_t) : 0;
  op.scratch_bytes = layout.bytes();
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace

Op plan(const Linear& /*options*/, const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) { return plan_linear<Element>(request); });
}

}  // namespace lockstep::cpu
