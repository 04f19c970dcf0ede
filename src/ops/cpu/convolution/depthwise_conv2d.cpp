#include <algorithm>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/scratch.h"

namespace lockstep::cpu {
namespace {

/// Part of the second-level cache that a band of a channel may take: 128 KiB.
constexpr int band_limit = 2048;  // pixels

/// Grids of target pixels, as the kernel sees them.
struct DepthwiseGrids {
  TapGrids grids;
  TapBounds bounds;
  int band_rows;
  int source_rows;
  int source_columns;
};

/// Everything about a depthwise convolution that is known before it runs.
struct DepthwisePlan {
  const DepthwiseKernels* kernels;
  const ElementwiseKernels* elementwise;
  ConvShapes shapes;
  bool relu;
  DepthwiseGrids forward;
  DepthwiseGrids backward;  ///< without phases where the gradient of the input is not wanted

  std::size_t band_offset;
  std::size_t grad_band_offset;
  std::size_t sums_offset;
};

DepthwiseGrids depthwise_grids(TapGrids grids) {
  DepthwiseGrids plan{std::move(grids), {}, 0, 0, 0};
  if (plan.grids.phases.empty()) {
    return plan;
  }
  plan.bounds = bounds_of(plan.grids.taps);
  const int step = plan.grids.step;
  const int tap_rows = plan.bounds.last_row - plan.bounds.first_row + 1;
  plan.source_columns =
      (plan.grids.columns - 1) * step + plan.bounds.last_column - plan.bounds.first_column + 1;
  const int fitting = (band_limit / plan.source_columns - tap_rows) / step + 1;
  plan.band_rows = std::clamp(fitting, 1, plan.grids.rows);
  plan.source_rows = (plan.band_rows - 1) * step + tap_rows;
  return plan;
}

DepthwisePlan depthwise_plan(const OpRequest& request) {
  DepthwisePlan plan{};
  plan.kernels = &depthwise_kernels(request.level);
  plan.elementwise = &elementwise_kernels(request.level);
  plan.shapes = {std::get<Conv2d>(request.node.operation), request.inputs[0], request.node.shape};
  plan.relu = request.node.epilogue.relu;
  plan.forward = depthwise_grids(forward_taps(plan.shapes));
  if (request.input_gradient) {
    plan.backward = depthwise_grids(backward_taps(plan.shapes));
  }
  return plan;
}

/// All but the target.
DepthwiseConv task_of(const DepthwisePlan& plan, const DepthwiseGrids& grid, const PixelPlanes& source,
                      const OpMemory& memory) {
  const int kernel = plan.shapes.options.kernel;
  DepthwiseConv task{};
  task.source = source;
  task.step = grid.grids.step;
  task.taps = grid.grids.taps.data();
  task.phases = grid.grids.phases.data();
  task.phase_count = static_cast<int>(grid.grids.phases.size());
  task.weight = memory.parameters[0];
  task.filter = kernel * kernel;
  task.source_rows = grid.source_rows;
  task.source_columns = grid.source_columns;
  task.first_row = grid.bounds.first_row;
  task.first_column = grid.bounds.first_column;
  task.band_rows = grid.band_rows;
  task.target.rows = grid.grids.rows;
  task.target.columns = grid.grids.columns;
  task.band = floats_at(memory.scratch, plan.band_offset);
  return task;
}

std::uint16_t* masks_of(const DepthwisePlan& plan, const OpMemory& memory) {
  return plan.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) : nullptr;
}

void forward(const DepthwisePlan& plan, const OpMemory& memory) {
  const Shape& output = plan.shapes.output;
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    DepthwiseConv task = task_of(
        plan, plan.forward,
        planes(memory.inputs[0], nullptr, plan.shapes.input, group, 0, plan.shapes.input.channels), memory);
    task.bias = memory.parameters[1];
    task.target = target_of(memory.output, output, group, 0, plan.forward.grids);
    plan.kernels->conv(task);
  }
  if (plan.relu) {
    plan.elementwise->relu(output.size() * groups_of(memory.samples), memory.output, memory.output,
                           masks_of(plan, memory));
  }
}

void backward_data(const DepthwisePlan& plan, const OpMemory& memory) {
  const Shape& input = plan.shapes.input;
  const Shape& output = plan.shapes.output;
  if (!plan.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], input.size() * lanes * groups_of(memory.samples), 0.0F);
  }
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const PixelPlanes grad =
        planes(memory.grad_output, masks_of(plan, memory), output, group, 0, output.channels);
    DepthwiseConv task = task_of(plan, plan.backward, grad, memory);
    task.target = target_of(memory.grad_inputs[0], input, group, 0, plan.backward.grids);
    plan.kernels->conv(task);
  }
}

void backward(const DepthwisePlan& plan, const OpMemory& memory) {
  if (memory.grad_inputs[0] != nullptr) {
    backward_data(plan, memory);
  }
  const PixelPlanes grad = planes(memory.grad_output, masks_of(plan, memory), plan.shapes.output, 0, 0,
                                  plan.shapes.output.channels);
  plan.kernels->weights(
      {.forward = task_of(
           plan, plan.forward,
           planes(memory.inputs[0], nullptr, plan.shapes.input, 0, 0, plan.shapes.input.channels), memory),
       .grad = grad,
       .groups = groups_of(memory.samples),
       .grad_weight = memory.grad_parameters[0],
       .grad_band = floats_at(memory.scratch, plan.grad_band_offset),
       .sums = floats_at(memory.scratch, plan.sums_offset)});
  if (memory.grad_parameters[1] != nullptr) {
    plan.kernels->bias_gradient(
        {.groups = groups_of(memory.samples), .grad = grad, .grad_bias = memory.grad_parameters[1]});
  }
}

std::size_t band_floats(const DepthwiseGrids& grid) {
  return static_cast<std::size_t>(grid.source_rows) * grid.source_columns * lanes;
}

/// Sets the plan's offsets; returns the bytes of scratch.
std::size_t lay_out_scratch(DepthwisePlan& plan) {
  const std::size_t band = std::max(band_floats(plan.forward), band_floats(plan.backward));
  const std::size_t grad =
      plan.relu ? static_cast<std::size_t>(plan.forward.band_rows) * plan.shapes.output.width * lanes : 0;
  ScratchLayout layout;
  plan.band_offset = layout.add(band);
  plan.grad_band_offset = layout.add(grad);
  plan.sums_offset = layout.add(plan.forward.grids.taps.size() * lanes);
  return layout.bytes();
}

}  // namespace

Op plan_depthwise_conv2d(const OpRequest& request) {
  DepthwisePlan plan = depthwise_plan(request);
  Op op;
  op.scratch_bytes = lay_out_scratch(plan);
  op.saved_bytes =
      plan.relu ? plan.shapes.output.size() * groups_of(request.samples) * sizeof(std::uint16_t) : 0;
  op.backward_reads_inputs = true;
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

}  // namespace lockstep::cpu
