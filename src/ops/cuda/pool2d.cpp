#include "ops/cuda/kernels/pool.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

template <class Pool>
PoolTask task_of(const Pool& pool, const OpRequest& request) {
  return {.type = request.type,
          .samples = request.samples,
          .channels = padded_channels(request.inputs[0].channels),
          .windows = pool_windows(pool, request.inputs[0], request.node.shape)};
}

Op plan_average(const PoolTask& task) {
  Op op;
  op.forward = [task](const OpMemory& memory) {
    avg_pool_forward(memory.stream, task, memory.inputs[0], memory.output);
  };
  op.backward = [task](const OpMemory& memory) {
    if (memory.grad_inputs[0] == nullptr) return;
    avg_pool_backward(memory.stream, task, memory.grad_output, memory.grad_inputs[0]);
  };
  return op;
}

/// Saves the positions of the largest values, so that backward reads neither inputs nor output.
Op plan_max(const PoolTask& task, bool training) {
  Op op;
  op.saved_bytes = training ? max_pool_places_bytes(task) : 0;
  op.forward = [task, training](const OpMemory& memory) {
    max_pool_forward(memory.stream, task, memory.inputs[0], memory.output, training ? memory.saved : nullptr);
  };
  op.backward = [task](const OpMemory& memory) {
    if (memory.grad_inputs[0] == nullptr) return;
    max_pool_backward(memory.stream, task, memory.saved, memory.grad_output, memory.grad_inputs[0]);
  };
  return op;
}

}  // namespace

Op plan(const MaxPool2d& pool, const OpRequest& request) {
  return plan_max(task_of(pool, request), request.training);
}
Op plan(const AvgPool2d& pool, const OpRequest& request) { return plan_average(task_of(pool, request)); }
Op plan(const AdaptiveAvgPool2d& pool, const OpRequest& request) {
  return plan_average(task_of(pool, request));
}

}  // namespace lockstep::cuda
