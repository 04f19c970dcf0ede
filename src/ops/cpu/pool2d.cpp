#include <vector>

#include "ops/cpu/kernels/pool.h"
#include "ops/cpu/op.h"
#include "ops/pool_windows.h"

namespace lockstep::cpu {
namespace {

/// Pooling of activations that are stored as `Element`.
template <class Element>
struct PoolLayer {
  const PoolFunctions<Element>* kernels;
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

template <class Element, class Pool>
PoolLayer<Element> pool_layer(const Pool& pool, const OpRequest& request) {
  const PoolWindows windows = pool_windows(pool, request.inputs[0], request.node.shape);
  return {.kernels = &functions_of<Element>(pool_kernels(request.level)),
          .input = request.inputs[0],
          .output = request.node.shape,
          .max = std::is_same_v<Pool, MaxPool2d>,
          .rows = ranges_of(windows.rows),
          .columns = ranges_of(windows.columns)};
}

template <class Element>
PoolTask task_of(const PoolLayer<Element>& layer, int samples) {
  return {.channels = groups_of(samples) * layer.input.channels,
          .in_height = layer.input.height,
          .in_width = layer.input.width,
          .out_height = layer.output.height,
          .out_width = layer.output.width,
          .rows = layer.rows.data(),
          .columns = layer.columns.data()};
}

template <class Element>
void forward(const PoolLayer<Element>& layer, const NodeMemory<Element>& memory) {
  const PoolTask task = task_of(layer, memory.samples);
  const auto kernel = layer.max ? layer.kernels->max_forward : layer.kernels->average_forward;
  kernel(task, memory.inputs[0], memory.output);
}

template <class Element>
void backward(const PoolLayer<Element>& layer, const NodeMemory<Element>& memory) {
  if (memory.grad_inputs[0] == nullptr) {
    return;
  }
  const PoolTask task = task_of(layer, memory.samples);
  float* const plane = floats_at(memory.scratch, 0);
  if (layer.max) {
    layer.kernels->max_backward(task, memory.inputs[0], memory.grad_output, memory.grad_inputs[0], plane);
  } else {
    layer.kernels->average_backward(task, memory.grad_output, memory.grad_inputs[0], plane);
  }
}

template <class Pool>
Op plan_pool(const Pool& pool, const OpRequest& request) {
  return plan_as_stored(request, [&]<class Element>(Element) {
    const PoolLayer<Element> layer = pool_layer<Element>(pool, request);
    Op op = op_of<Element>(layer);
    op.backward_reads_inputs = layer.max ? 1 : 0;
    if (request.input_gradient && !std::is_same_v<Element, float>) {
      op.scratch_bytes = sizeof(float) * lanes * layer.input.height * layer.input.width;
    }
    return op;
  });
}

}  // namespace

Op plan(const MaxPool2d& pool, const OpRequest& request) { return plan_pool(pool, request); }
Op plan(const AvgPool2d& pool, const OpRequest& request) { return plan_pool(pool, request); }
Op plan(const AdaptiveAvgPool2d& pool, const OpRequest& request) { return plan_pool(pool, request); }

}  // namespace lockstep::cpu
