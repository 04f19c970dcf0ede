#include <vector>

#include "ops/cpu/kernels/pool.h"
#include "ops/cpu/op.h"
#include "ops/pool_windows.h"

namespace lockstep::cpu {
namespace {

struct PoolPlan {
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
PoolPlan describe_pool(const Pool& pool, const OpRequest& request) {
  const PoolWindows windows = pool_windows(pool, request.inputs[0], request.node.shape);
  return {.kernels = &pool_kernels(request.level),
          .input = request.inputs[0],
          .output = request.node.shape,
          .max = std::is_same_v<Pool, MaxPool2d>,
          .rows = ranges_of(windows.rows),
          .columns = ranges_of(windows.columns)};
}

PoolTask task_of(const PoolPlan& plan, int samples) {
  return {.channels = groups_of(samples) * plan.input.channels,
          .in_height = plan.input.height,
          .in_width = plan.input.width,
          .out_height = plan.output.height,
          .out_width = plan.output.width,
          .rows = plan.rows.data(),
          .columns = plan.columns.data()};
}

void forward(const PoolPlan& plan, const OpMemory& memory) {
  const PoolTask task = task_of(plan, memory.samples);
  const auto kernel = plan.max ? plan.kernels->max_forward : plan.kernels->average_forward;
  kernel(task, memory.inputs[0], memory.output);
}

void backward(const PoolPlan& plan, const OpMemory& memory) {
  if (memory.grad_inputs[0] == nullptr) {
    return;
  }
  const PoolTask task = task_of(plan, memory.samples);
  if (plan.max) {
    plan.kernels->max_backward(task, memory.inputs[0], memory.grad_output, memory.grad_inputs[0]);
  } else {
    plan.kernels->average_backward(task, memory.grad_output, memory.grad_inputs[0]);
  }
}

Op plan_pool(const PoolPlan& plan) {
  Op op;
  op.backward_reads_inputs = plan.max;
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

}  // namespace

Op plan(const MaxPool2d& pool, const OpRequest& request) { return plan_pool(describe_pool(pool, request)); }
Op plan(const AvgPool2d& pool, const OpRequest& request) { return plan_pool(describe_pool(pool, request)); }
Op plan(const AdaptiveAvgPool2d& pool, const OpRequest& request) {
  return plan_pool(describe_pool(pool, request));
}

}  // namespace lockstep::cpu
