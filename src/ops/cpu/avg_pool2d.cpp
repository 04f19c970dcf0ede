#include "ops/cpu/level.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

Op plan_avg_pool2d(const OpRequest& request) {
  const Kernels& kernels = kernels_of(request.level);
  const auto& options = std::get<AvgPool2d>(request.node.operation);
  const Shape& input = request.inputs[0];
  const Shape& output = request.node.shape;
  const PoolTask task{.channels = output.channels,
                      .in_height = input.height,
                      .in_width = input.width,
                      .out_height = output.height,
                      .out_width = output.width,
                      .window = options.kernel,
                      .stride = options.stride == 0 ? options.kernel : options.stride};
  const std::size_t input_floats = input.size() * lanes;
  const std::size_t output_floats = output.size() * lanes;
  Op op;
  op.forward = [=, &kernels](const OpMemory& memory) {
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      kernels.pool_forward(task, memory.inputs[0] + input_floats * group,
                           memory.output + output_floats * group);
    }
  };
  op.backward = [=, &kernels](const OpMemory& memory) {
    for (int group = 0; memory.grad_inputs[0] != nullptr && group < groups_of(memory.samples); ++group) {
      kernels.pool_backward(task, memory.grad_output + output_floats * group,
                            memory.grad_inputs[0] + input_floats * group);
    }
  };
  return op;
}

}  // namespace lockstep::cpu
