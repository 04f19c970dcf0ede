#include <algorithm>

#include "ops/cpu/convolution/kernels/expand.h"
#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/kernels/linear.h"
#include "ops/cpu/op.h"
#include "ops/cpu/scratch.h"

namespace lockstep::cpu {
namespace {

struct LinearPlan {
  const LinearKernels* kernels;
  const ElementwiseKernels* elementwise;
  const ExpandKernels* epilogue;
  int inputs;
  int outputs;
  bool relu;
  std::size_t grad_offset;  ///< gradient before the ReLU
  std::size_t work_offset;
};

LinearTask task_of(const LinearPlan& plan, const OpMemory& memory) {
  LinearTask task{};
  task.groups = groups_of(memory.samples);
  task.samples = memory.samples;
  task.inputs = plan.inputs;
  task.outputs = plan.outputs;
  task.input = memory.inputs[0];
  task.weight = memory.parameters[0];
  task.bias = memory.parameters[1];
  return task;
}

std::size_t outputs_of_all_groups(const LinearTask& task) {
  return static_cast<std::size_t>(task.groups) * static_cast<std::size_t>(task.outputs);
}

void forward(const LinearPlan& plan, const OpMemory& memory) {
  LinearTask task = task_of(plan, memory);
  task.output = memory.output;
  plan.kernels->forward(task);
  if (plan.relu) {
    plan.elementwise->relu(outputs_of_all_groups(task), task.output, task.output,
                           reinterpret_cast<std::uint16_t*>(memory.saved));
  }
}

void backward(const LinearPlan& plan, const OpMemory& memory) {
  LinearTask task = task_of(plan, memory);
  task.grad_output = memory.grad_output;
  if (plan.relu) {
    float* grad = floats_at(memory.scratch, plan.grad_offset);
    plan.epilogue->expand({.epilogue = {.relu = true, .window = 1},
                           .channels = 1,
                           .rows = 1,
                           .columns = static_cast<int>(outputs_of_all_groups(task)),
                           .grad = memory.grad_output,
                           .grad_plane = 0,
                           .masks = reinterpret_cast<const std::uint16_t*>(memory.saved),
                           .mask_plane = 0,
                           .output = grad,
                           .output_plane = 0});
    task.grad_output = grad;
  }
  task.grad_input = memory.grad_inputs[0];
  if (task.grad_input != nullptr) {
    plan.kernels->backward_data(task);
  }
  task.grad_weight = memory.grad_parameters[0];
  task.grad_bias = memory.grad_parameters[1];
  task.scratch = floats_at(memory.scratch, plan.work_offset);
  plan.kernels->backward_weights(task);
}

}  // namespace

Op plan(const Linear& /*options*/, const OpRequest& request) {
  LinearPlan plan{};
  plan.kernels = &linear_kernels(request.level);
  plan.elementwise = &elementwise_kernels(request.level);
  plan.epilogue = &expand_kernels(request.level);
  plan.inputs = static_cast<int>(request.inputs[0].size());
  plan.outputs = request.node.shape.channels;
  plan.relu = request.node.epilogue.relu;
  const std::size_t outputs = static_cast<std::size_t>(plan.outputs) * groups_of(request.samples);
  ScratchLayout layout;
  plan.grad_offset = layout.add(plan.relu ? outputs * lanes : 0);
  plan.work_offset = layout.add(plan.kernels->scratch(plan.inputs, request.samples));
  Op op;
  op.saved_bytes = plan.relu ? outputs * sizeof(std::uint16_t) : 0;
  op.scratch_bytes = layout.bytes();
  op.backward_reads_inputs = true;
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

}  // namespace lockstep::cpu
