#include <algorithm>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/linear.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

struct LinearLayer {
  const LinearKernels* kernels;
  const ElementwiseKernels* elementwise;
  int inputs;
  int outputs;
  bool relu;
  std::size_t grad_offset;  ///< of the gradient before the ReLU, in scratch memory
  std::size_t work_offset;
};

LinearTask task_of(const LinearLayer& layer, const OpMemory& memory) {
  LinearTask task{};
  task.groups = groups_of(memory.samples);
  task.samples = memory.samples;
  task.inputs = layer.inputs;
  task.outputs = layer.outputs;
  task.input = memory.inputs[0];
  task.weight = memory.parameters[0];
  task.bias = memory.parameters[1];
  return task;
}

std::size_t outputs_of_all_groups(const LinearTask& task) {
  return static_cast<std::size_t>(task.groups) * static_cast<std::size_t>(task.outputs);
}

void forward(const LinearLayer& layer, const OpMemory& memory) {
  LinearTask task = task_of(layer, memory);
  task.output = memory.output;
  layer.kernels->forward(task);
  if (layer.relu) {
    layer.elementwise->relu(outputs_of_all_groups(task), task.output, task.output,
                            reinterpret_cast<std::uint16_t*>(memory.saved));
  }
}

void backward(const LinearLayer& layer, const OpMemory& memory) {
  LinearTask task = task_of(layer, memory);
  task.grad_output = memory.grad_output;
  if (layer.relu) {
    float* grad = floats_at(memory.scratch, layer.grad_offset);
    layer.elementwise->select(outputs_of_all_groups(task), 1.0F,
                              reinterpret_cast<const std::uint16_t*>(memory.saved), memory.grad_output, grad);
    task.grad_output = grad;
  }
  task.grad_input = memory.grad_inputs[0];
  if (task.grad_input != nullptr) {
    layer.kernels->backward_data(task);
  }
  task.grad_weight = memory.grad_parameters[0];
  task.grad_bias = memory.grad_parameters[1];
  task.scratch = floats_at(memory.scratch, layer.work_offset);
  layer.kernels->backward_weights(task);
}

}  // namespace

Op plan(const Linear& /*options*/, const OpRequest& request) {
  LinearLayer layer{};
  layer.kernels = &linear_kernels(request.level);
  layer.elementwise = &elementwise_kernels(request.level);
  layer.inputs = static_cast<int>(request.inputs[0].size());
  layer.outputs = request.node.shape.channels;
  layer.relu = request.node.epilogue.relu;
  const std::size_t outputs = static_cast<std::size_t>(layer.outputs) * groups_of(request.samples);
  ScratchLayout layout;
  layer.grad_offset = layout.add(layer.relu ? outputs * lanes : 0);
  layer.work_offset = layout.add(layer.kernels->scratch(layer.inputs, request.samples));
  Op op = op_of(layer);
  op.saved_bytes = layer.relu ? outputs * sizeof(std::uint16_t) : 0;
  op.scratch_bytes = layout.bytes();
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace lockstep::cpu
