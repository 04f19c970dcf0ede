#include <vector>

#include "ops/cpu/kernels/pool.h"
#include "ops/cpu/op.h"
#include "ops/pool_windows.h"

namespace lockstep::cpu {
namespace {

struct PoolLayer {
  const PoolKernels* kernels;
  Shape input;
  Shape output;
  bool max;
  std::vector<PoolRange> rows{};
  std::vector<PoolRange> columns{};
};

std::vector<PoolRange> ranges_of(const PoolAxis& axis) {
  std::vector<PoolRange> ranges;
  for (int i = 0; i < axis.outputs; ++i) ranges.push_back(axis.window(i));
  return ranges;
}

template <class Pool>
PoolLayer pool_layer(const Pool& pool, const OpRequest& request) {
  const PoolWindows windows = pool_windows(pool, request.inputs[0], request.node.shape);
  return {.kernels = &pool_kernels(request.level),
          .input = request.inputs[0],
          .output = request.node.shape,
          .max = std::is_same_v<Pool, MaxPool2d>,
          .rows = ranges_of(windows.rows),
          .columns = ranges_of(windows.columns)};
}

PoolTask task_of(const PoolLayer& layer, int samples) {
  return {.channels = groups_of(samples) * layer.input.channels,
          .in_height = layer.input.height,
          .in_width = layer.input.width,
          .out_height = layer.output.height,
          .out_width = layer.output.width,
          .rows = layer.rows.data(),
          .columns = layer.columns.data()};
}

void forward(const PoolLayer& layer, const OpMemory& memory) {
  const PoolTask task = task_of(layer, memory.samples);
  const auto kernel = layer.max ? layer.kernels->max_forward : layer.kernels->average_forward;
  kernel(task, memory.inputs[0], memory.output);
}

void backward(const PoolLayer& layer, const OpMemory& memory) {
  if (memory.grad_inputs[0] == nullptr) {
    return;
  }
  const PoolTask task = task_of(layer, memory.samples);
  if (layer.max) {
    layer.kernels->max_backward(task, memory.inputs[0], memory.grad_output, memory.grad_inputs[0]);
  } else {
    layer.kernels->average_backward(task, memory.grad_output, memory.grad_inputs[0]);
  }
}

Op plan_pool(const PoolLayer& layer) {
  Op op = op_of(layer);
  op.backward_reads_inputs = layer.max ? 1 : 0;
  return op;
}

}  // namespace

Op plan(const MaxPool2d& pool, const OpRequest& request) { return plan_pool(pool_layer(pool, request)); }
Op plan(const AvgPool2d& pool, const OpRequest& request) { return plan_pool(pool_layer(pool, request)); }
Op plan(const AdaptiveAvgPool2d& pool, const OpRequest& request) {
  return plan_pool(pool_layer(pool, request));
}

}  // namespace lockstep::cpu
