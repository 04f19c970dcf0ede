#include <algorithm>
#include <vector>

#include "ops/cpu/level.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// The windows of a pooling layer in one direction.
struct Windows {
  std::vector<PoolRange> ranges;
};

Windows sliding(int outputs, int size, int kernel, int stride, int padding, bool count_padding) {
  Windows windows;
  for (int i = 0; i < outputs; ++i) {
    const int first = i * stride - padding;
    const int last = std::min(first + kernel, size + padding);
    const int begin = std::max(first, 0);
    const int end = std::min(last, size);
    windows.ranges.push_back({begin, end, count_padding ? last - first : end - begin});
  }
  return windows;
}

/// As PyTorch's adaptive pooling: from floor(i size / outputs) to ceil((i + 1) size / outputs).
Windows adaptive(int outputs, int size) {
  Windows windows;
  for (int i = 0; i < outputs; ++i) {
    const int begin = i * size / outputs;
    const int end = ((i + 1) * size + outputs - 1) / outputs;
    windows.ranges.push_back({begin, end, end - begin});
  }
  return windows;
}

struct PoolPlan {
  const Kernels* kernels;
  Shape input;
  Shape output;
  bool max = false;
  Windows rows{};
  Windows columns{};
};

template <class Options>
void slide(PoolPlan& plan, const Options& options, bool count_padding) {
  plan.rows = sliding(plan.output.height, plan.input.height, options.kernel, options.stride, options.padding,
                      count_padding);
  plan.columns = sliding(plan.output.width, plan.input.width, options.kernel, options.stride, options.padding,
                         count_padding);
}

PoolPlan describe_pool(const OpRequest& request) {
  PoolPlan plan{
      .kernels = &kernels_of(request.level), .input = request.inputs[0], .output = request.node.shape};
  if (const auto* options = std::get_if<MaxPool2d>(&request.node.operation)) {
    plan.max = true;
    slide(plan, *options, false);
  } else if (const auto* average = std::get_if<AvgPool2d>(&request.node.operation)) {
    slide(plan, *average, average->count_include_pad);
  } else {
    plan.rows = adaptive(plan.output.height, plan.input.height);
    plan.columns = adaptive(plan.output.width, plan.input.width);
  }
  return plan;
}

PoolTask task_of(const PoolPlan& plan, int samples) {
  return {.channels = groups_of(samples) * plan.input.channels,
          .in_height = plan.input.height,
          .in_width = plan.input.width,
          .out_height = plan.output.height,
          .out_width = plan.output.width,
          .rows = plan.rows.ranges.data(),
          .columns = plan.columns.ranges.data()};
}

void forward(const PoolPlan& plan, const OpMemory& memory) {
  const PoolTask task = task_of(plan, memory.samples);
  const auto kernel = plan.max ? plan.kernels->max_pool_forward : plan.kernels->avg_pool_forward;
  kernel(task, memory.inputs[0], memory.output);
}

void backward(const PoolPlan& plan, const OpMemory& memory) {
  if (memory.grad_inputs[0] == nullptr) {
    return;
  }
  const PoolTask task = task_of(plan, memory.samples);
  if (plan.max) {
    plan.kernels->max_pool_backward(task, memory.inputs[0], memory.grad_output, memory.grad_inputs[0]);
  } else {
    plan.kernels->avg_pool_backward(task, memory.grad_output, memory.grad_inputs[0]);
  }
}

}  // namespace

Op plan_pool2d(const OpRequest& request) {
  const PoolPlan plan = describe_pool(request);
  Op op;
  op.backward_reads_inputs = plan.max;
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

}  // namespace lockstep::cpu
