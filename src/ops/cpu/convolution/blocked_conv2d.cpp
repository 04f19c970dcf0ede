#include <algorithm>
#include <cstring>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/convolution/kernels/depthwise.h"
#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/scratch.h"

namespace lockstep::cpu {
namespace {

/// Packed weights and sums of their gradients stay below this: 8 MiB.
constexpr std::size_t weights_limit = std::size_t{2} << 20;  // floats
/// Room for the pixels of a tile, in pixels: 48 KiB, so deep that sums are seldom stored and loaded
/// again. They are in the second-level cache, whose latency the register block hides.
constexpr int tile_limit = 768;
/// Part of the second-level cache that a region, and the weights used with it, may take.
constexpr int region_limit = 4096;         // pixels: 256 KiB
constexpr int transposed_limit = 8192;     // pixels of channels: 512 KiB
constexpr int region_weights = 64 * 1024;  // floats: 256 KiB

/// Fewest pixels of a region where more do not fit.
constexpr int fewest_region_pixels = 14;

int rounded_up(int value, int unit) { return (value + unit - 1) / unit * unit; }
int pieces(int value, int most) { return (value + most - 1) / most; }

/// Grids of target pixels, as the kernel sees them.
struct BlockedGrids {
  TapGrids grids;
  ConvBlocking blocking;
  std::vector<int> offsets;  ///< of the taps in a region
  int targets_at_once;       ///< whose packed weights are in scratch together
};

/// Everything about a convolution that is known before it runs.
struct BlockedPlan {
  const BlockedConvKernels* kernels;
  const DepthwiseKernels* depthwise;
  const ElementwiseKernels* elementwise;
  ConvShapes shapes;
  bool relu;
  int group_inputs;  ///< channels of one of the convolution's groups
  int group_outputs;
  std::size_t taps;
  BlockedGrids forward;
  BlockedGrids backward;      ///< without phases where the gradient of the input is not wanted
  bool lanes_are_inputs;      ///< in the gradient of the weights
  int weight_pixels_at_once;  ///< in the gradient of the weights
  int factors_at_once;        ///< channels whose sums are in scratch together

  std::size_t weights_offset;
  std::size_t region_offset;
};

ConvBlocking choose_blocking(const TapGrids& grids, int sources) {
  const TapBounds bounds = bounds_of(grids.taps);
  const int tap_rows = bounds.last_row - bounds.first_row + 1;
  const int tap_columns = bounds.last_column - bounds.first_column + 1;
  int taps = 0;
  for (const ConvPhase& phase : grids.phases) {
    taps = std::max(taps, phase.tap_count);
  }
  const int tile = std::min(3 * taps, tap_rows * (2 * grids.step + tap_columns));
  ConvBlocking b{};
  b.sources = pieces(sources, pieces(sources, std::max(1, tile_limit / tile)));
  b.first_row = bounds.first_row;
  b.first_column = bounds.first_column;
  for (int most = region_pixels; most >= fewest_region_pixels; most -= 6) {
    b.columns = rounded_up(pieces(grids.columns, pieces(grids.columns, most)), 3);
    b.columns = std::min({b.columns, most, grids.columns});
    b.rows = pieces(grids.rows, pieces(grids.rows, most / b.columns));
    b.source_rows = (b.rows - 1) * grids.step + tap_rows;
    b.source_columns = (b.columns - 1) * grids.step + tap_columns;
    if (b.source_rows * b.source_columns * b.sources <= region_limit) {
      break;
    }
  }
  b.targets = std::max(1, region_weights / (b.sources * taps * packed_block)) * packed_block;
  return b;
}

BlockedGrids blocked_grids(TapGrids grids, int sources, int targets) {
  BlockedGrids plan{std::move(grids), {}, {}, 0};
  if (plan.grids.phases.empty()) {
    return plan;
  }
  plan.blocking = choose_blocking(plan.grids, sources);
  for (const ConvTap& tap : plan.grids.taps) {
    plan.offsets.push_back(((tap.row - plan.blocking.first_row) * plan.blocking.source_columns + tap.column -
                            plan.blocking.first_column) *
                           lanes);
  }
  const std::size_t block = packed_block * static_cast<std::size_t>(sources) * plan.grids.taps.size();
  const auto blocks = static_cast<int>(std::max<std::size_t>(1, weights_limit / block));
  plan.targets_at_once = std::min(rounded_up(targets, packed_block), blocks * packed_block);
  return plan;
}

BlockedPlan blocked_plan(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  BlockedPlan plan{};
  plan.kernels = &blocked_conv_kernels(request.level);
  plan.depthwise = &depthwise_kernels(request.level);
  plan.elementwise = &elementwise_kernels(request.level);
  plan.shapes = flattened({options, request.inputs[0], request.node.shape});
  plan.relu = request.node.epilogue.relu;
  plan.group_inputs = request.inputs[0].channels / options.groups;
  plan.group_outputs = request.node.shape.channels / options.groups;
  plan.forward = blocked_grids(forward_taps(plan.shapes), plan.group_inputs, plan.group_outputs);
  plan.taps = plan.forward.grids.taps.size();
  if (request.input_gradient) {
    plan.backward = blocked_grids(backward_taps(plan.shapes), plan.group_outputs, plan.group_inputs);
  }
  // Transposing the fewer channels costs less; taps need the input to be the factor.
  plan.lanes_are_inputs = plan.taps == 1 && options.padding == 0 && plan.group_inputs < plan.group_outputs;
  return plan;
}

/// One pass over a grid: which way, and where.
struct PassMemory {
  const float* source;
  const std::uint16_t* masks;  ///< of the source
  Shape source_shape;
  const float* bias;
  float* target;
  Shape target_shape;
  const float* weight;
  std::size_t target_stride;  ///< of the weights, per channel
  std::size_t source_stride;
};

/// Packs the weights of target channels [first, first + count) of one of the convolution's groups.
void pack_targets(const BlockedPlan& plan, const TapGrids& grids, const PassMemory& pass, int sources,
                  int conv_group, int first, int count, float* packed) {
  const std::size_t filters = static_cast<std::size_t>(conv_group) * plan.group_outputs * plan.group_inputs;
  const std::size_t padded = rounded_up(count, packed_block);
  for (const ConvPhase& phase : grids.phases) {
    plan.kernels->pack_weights(
        {.weight = pass.weight + filters * plan.taps + static_cast<std::size_t>(first) * pass.target_stride,
         .target_stride = pass.target_stride,
         .source_stride = pass.source_stride,
         .targets = count,
         .sources = sources,
         .taps = grids.taps.data() + phase.first_tap,
         .tap_count = phase.tap_count,
         .packed = packed + padded * sources * phase.first_tap});
  }
}

/// Computes those target channels for all images.
void run_targets(const BlockedPlan& plan, const BlockedGrids& blocked, const PassMemory& pass,
                 const OpMemory& memory, int conv_group, int first, int count) {
  const TapGrids& grids = blocked.grids;
  const int groups = plan.shapes.options.groups;
  const int sources = pass.source_shape.channels / groups;
  const int target = conv_group * (pass.target_shape.channels / groups) + first;
  float* packed = floats_at(memory.scratch, plan.weights_offset);
  pack_targets(plan, grids, pass, sources, conv_group, first, count, packed);
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    plan.kernels->conv(
        {.blocking = blocked.blocking,
         .source = planes(pass.source, pass.masks, pass.source_shape, group, conv_group * sources, sources),
         .step = grids.step,
         .tap_offsets = blocked.offsets.data(),
         .phases = grids.phases.data(),
         .phase_count = static_cast<int>(grids.phases.size()),
         .packed = packed,
         .bias = pass.bias == nullptr ? nullptr : pass.bias + target,
         .targets = count,
         .target = target_of(pass.target, pass.target_shape, group, target, grids),
         .region = floats_at(memory.scratch, plan.region_offset)});
  }
}

void run_pass(const BlockedPlan& plan, const BlockedGrids& grids, const PassMemory& pass,
              const OpMemory& memory) {
  const int groups = plan.shapes.options.groups;
  const int targets = pass.target_shape.channels / groups;
  for (int conv_group = 0; conv_group < groups; ++conv_group) {
    for (int t = 0; t < targets; t += grids.targets_at_once) {
      run_targets(plan, grids, pass, memory, conv_group, t, std::min(grids.targets_at_once, targets - t));
    }
  }
}

std::uint16_t* masks_of(const BlockedPlan& plan, const OpMemory& memory) {
  return plan.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) : nullptr;
}

void forward(const BlockedPlan& plan, const OpMemory& memory) {
  run_pass(plan, plan.forward,
           {.source = memory.inputs[0],
            .masks = nullptr,
            .source_shape = plan.shapes.input,
            .bias = memory.parameters[1],
            .target = memory.output,
            .target_shape = plan.shapes.output,
            .weight = memory.parameters[0],
            .target_stride = plan.group_inputs * plan.taps,
            .source_stride = plan.taps},
           memory);
  if (plan.relu) {
    plan.elementwise->relu(plan.shapes.output.size() * groups_of(memory.samples), memory.output,
                           memory.output, masks_of(plan, memory));
  }
}

void backward_data(const BlockedPlan& plan, const OpMemory& memory) {
  if (!plan.backward.grids.covers_all) {
    std::fill_n(memory.grad_inputs[0], plan.shapes.input.size() * lanes * groups_of(memory.samples), 0.0F);
  }
  if (plan.backward.grids.phases.empty()) {
    return;
  }
  run_pass(plan, plan.backward,
           {.source = memory.grad_output,
            .masks = masks_of(plan, memory),
            .source_shape = plan.shapes.output,
            .bias = nullptr,
            .target = memory.grad_inputs[0],
            .target_shape = plan.shapes.input,
            .weight = memory.parameters[0],
            .target_stride = plan.taps,
            .source_stride = plan.group_inputs * plan.taps},
           memory);
}

/// Gradient of the weights of one of the convolution's groups, for factor channels [first, first + count).
void backward_weights(const BlockedPlan& plan, const OpMemory& memory, int conv_group, int first, int count) {
  const bool inputs_in_lanes = plan.lanes_are_inputs;
  const int stride = plan.shapes.options.stride;
  const int lane_channels = inputs_in_lanes ? plan.group_inputs : plan.group_outputs;
  const std::size_t input_stride = plan.taps;
  const std::size_t output_stride = plan.group_inputs * plan.taps;
  const std::size_t factor_stride = inputs_in_lanes ? output_stride : input_stride;
  const int taps = static_cast<int>(plan.taps);
  float* sums = floats_at(memory.scratch, plan.weights_offset);
  std::fill_n(sums, weight_sums_width(lane_channels) * rounded_up(count * taps, lanes), 0.0F);
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const PixelPlanes input = planes(memory.inputs[0], nullptr, plan.shapes.input, group,
                                     conv_group * plan.group_inputs + (inputs_in_lanes ? 0 : first),
                                     inputs_in_lanes ? plan.group_inputs : count);
    const PixelPlanes grad = planes(memory.grad_output, masks_of(plan, memory), plan.shapes.output, group,
                                    conv_group * plan.group_outputs + (inputs_in_lanes ? first : 0),
                                    inputs_in_lanes ? count : plan.group_outputs);
    plan.kernels->weights({.lane = inputs_in_lanes ? input : grad,
                           .factor = inputs_in_lanes ? grad : input,
                           .lane_step = inputs_in_lanes ? stride : 1,
                           .factor_step = inputs_in_lanes ? 1 : stride,
                           .rows = plan.shapes.output.height,
                           .columns = plan.shapes.output.width,
                           .pixels_at_once = plan.weight_pixels_at_once,
                           .taps = plan.forward.grids.taps.data(),
                           .tap_count = taps,
                           .sums = sums,
                           .scratch = floats_at(memory.scratch, plan.region_offset)});
  }
  const std::size_t filters = static_cast<std::size_t>(conv_group) * plan.group_outputs * output_stride;
  plan.kernels->unpack_weight_sums(
      {.sums = sums,
       .lanes = lane_channels,
       .factors = count,
       .taps = plan.forward.grids.taps.data(),
       .tap_count = taps,
       .lane_stride = inputs_in_lanes ? input_stride : output_stride,
       .factor_stride = factor_stride,
       .weight = memory.grad_parameters[0] + filters + static_cast<std::size_t>(first) * factor_stride});
}

void backward(const BlockedPlan& plan, const OpMemory& memory) {
  if (memory.grad_inputs[0] != nullptr) {
    backward_data(plan, memory);
  }
  const int factors = plan.lanes_are_inputs ? plan.group_outputs : plan.group_inputs;
  for (int conv_group = 0; conv_group < plan.shapes.options.groups; ++conv_group) {
    for (int f = 0; f < factors; f += plan.factors_at_once) {
      backward_weights(plan, memory, conv_group, f, std::min(plan.factors_at_once, factors - f));
    }
  }
  if (memory.grad_parameters[1] != nullptr) {
    plan.depthwise->bias_gradient({.groups = groups_of(memory.samples),
                                   .grad = planes(memory.grad_output, masks_of(plan, memory),
                                                  plan.shapes.output, 0, 0, plan.shapes.output.channels),
                                   .grad_bias = memory.grad_parameters[1]});
  }
}

std::size_t region_floats(const BlockedGrids& grid) {
  return static_cast<std::size_t>(grid.blocking.sources) * grid.blocking.source_rows *
         grid.blocking.source_columns * lanes;
}

std::size_t packed_floats(const BlockedGrids& grid, int sources) {
  return static_cast<std::size_t>(grid.targets_at_once) * sources * grid.grids.taps.size();
}

/// Sets the plan's offsets; returns the bytes of scratch.
std::size_t lay_out_scratch(BlockedPlan& plan, bool training) {
  std::size_t weights = std::max(packed_floats(plan.forward, plan.group_inputs),
                                 packed_floats(plan.backward, plan.group_outputs));
  std::size_t region = std::max(region_floats(plan.forward), region_floats(plan.backward));
  if (training) {
    const int lane_channels = plan.lanes_are_inputs ? plan.group_inputs : plan.group_outputs;
    const int factors = plan.lanes_are_inputs ? plan.group_outputs : plan.group_inputs;
    const std::size_t row = weight_sums_width(lane_channels);
    plan.weight_pixels_at_once = transposed_limit / static_cast<int>(row);
    plan.factors_at_once =
        static_cast<int>(std::clamp<std::size_t>(weights_limit / (row * plan.taps), 1, factors));
    weights = std::max(weights, row * rounded_up(plan.factors_at_once * static_cast<int>(plan.taps), lanes));
    region = std::max(region, plan.kernels->weights_scratch(lane_channels));
  }
  ScratchLayout layout;
  plan.weights_offset = layout.add(weights);
  plan.region_offset = layout.add(region);
  return layout.bytes();
}

}  // namespace

Op plan_blocked_conv2d(const OpRequest& request) {
  BlockedPlan plan = blocked_plan(request);
  Op op;
  op.scratch_bytes = lay_out_scratch(plan, request.training);
  op.saved_bytes =
      plan.relu ? plan.shapes.output.size() * groups_of(request.samples) * sizeof(std::uint16_t) : 0;
  op.backward_reads_inputs = true;
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

}  // namespace lockstep::cpu
