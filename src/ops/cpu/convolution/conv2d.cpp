#include <algorithm>
#include <cstring>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/kernels/direct_conv.h"
#include "ops/cpu/convolution/kernels/expand.h"
#include "ops/cpu/convolution/winograd.h"
#include "ops/cpu/op.h"
#include "ops/cpu/scratch.h"

namespace lockstep::cpu {
namespace {

/// Everything about a convolution that is known before it runs.
struct ConvPlan {
  const DirectConvKernels* kernels;
  const ExpandKernels* expansion;
  ConvGeometry geometry;  ///< input with its padding
  int padding;
  PoolEpilogue epilogue;
  bool has_bias;
  bool expand;  ///< the gradient must be taken back through the epilogue
  bool input_gradient;

  // Floats per group, and offsets in the scratch memory.
  std::size_t input_floats;   ///< without padding
  std::size_t padded_floats;  ///< with it
  std::size_t output_floats;  ///< as stored
  std::size_t mask_pixels;
  std::size_t zeros_offset;  ///< in place of a bias
  std::size_t padded_offset;
  std::size_t expanded_offset;
  std::size_t work_offset;
};

std::size_t volume(int channels, int height, int width) { return Shape{channels, height, width}.size(); }

ConvGeometry geometry_of(const OpRequest& request, const Conv2d& options, int window) {
  const Shape& input = request.inputs[0];
  const Shape& stored = request.node.shape;
  ConvGeometry g{.in_channels = input.channels,
                 .in_height = input.height + 2 * options.padding,
                 .in_width = input.width + 2 * options.padding,
                 .out_channels = stored.channels,
                 .out_height = stored.height * window,
                 .out_width = stored.width * window,
                 .kernel_height = options.kernel,
                 .kernel_width = options.kernel,
                 .stride = options.stride};
  const bool flat = options.kernel == 1 && options.stride == 1 && options.padding == 0 && window == 1 &&
                    g.in_height == g.out_height && g.in_width == g.out_width;
  if (flat) {  // a 1 x 1 convolution sees no rows: one long row fills the register blocks better
    g.in_width *= g.in_height;
    g.out_width = g.in_width;
    g.in_height = g.out_height = 1;
  }
  return g;
}

ConvPlan describe(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  const PoolEpilogue epilogue{request.node.epilogue.relu, std::max(request.node.epilogue.pool, 1)};
  const ConvGeometry g = geometry_of(request, options, epilogue.window);
  ConvPlan plan{};
  plan.kernels = &direct_conv_kernels(request.level);
  plan.expansion = &expand_kernels(request.level);
  plan.geometry = g;
  plan.padding = options.padding;
  plan.epilogue = epilogue;
  plan.has_bias = options.bias;
  plan.expand = epilogue.relu || epilogue.window > 1;
  plan.input_gradient = request.input_gradient;
  plan.input_floats = request.inputs[0].size() * lanes;
  plan.padded_floats = volume(g.in_channels, g.in_height, g.in_width) * lanes;
  plan.output_floats = request.node.shape.size() * lanes;
  plan.mask_pixels = volume(g.out_channels, g.out_height, g.out_width);
  return plan;
}

/// Copies one group into the middle of a frame of zeros.
void pad_group(const ConvPlan& plan, const float* input, float* padded) {
  const ConvGeometry& g = plan.geometry;
  const std::size_t row = static_cast<std::size_t>(g.in_width) * lanes;
  const std::size_t edge = static_cast<std::size_t>(plan.padding) * lanes;
  const std::size_t inner = row - 2 * edge;
  std::fill_n(padded, plan.padded_floats, 0.0F);
  for (int c = 0; c < g.in_channels; ++c) {
    for (int r = plan.padding; r < g.in_height - plan.padding; ++r, input += inner) {
      std::memcpy(padded + row * (static_cast<std::size_t>(c) * g.in_height + r) + edge, input,
                  inner * sizeof(float));
    }
  }
}

std::uint16_t* masks_of(const ConvPlan& plan, const OpMemory& memory, int group) {
  return plan.epilogue.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) + plan.mask_pixels * group
                            : nullptr;
}

void forward(const ConvPlan& plan, const OpMemory& memory) {
  float* padded = floats_at(memory.scratch, plan.padded_offset);
  const float* bias = memory.parameters[1];
  if (bias == nullptr) {
    float* zeros = floats_at(memory.scratch, plan.zeros_offset);
    std::fill_n(zeros, plan.geometry.out_channels, 0.0F);
    bias = zeros;
  }
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const float* input = memory.inputs[0] + plan.input_floats * group;
    if (plan.padding > 0) {
      pad_group(plan, input, padded);
      input = padded;
    }
    plan.kernels->forward({.geometry = plan.geometry,
                           .epilogue = plan.epilogue,
                           .input = input,
                           .weight = memory.parameters[0],
                           .bias = bias,
                           .output = memory.output + plan.output_floats * group,
                           .masks = masks_of(plan, memory, group),
                           .rows = floats_at(memory.scratch, plan.work_offset)});
  }
}

/// Gradient before the epilogue, all groups.
void expand_gradient(const ConvPlan& plan, const OpMemory& memory, float* expanded) {
  const ConvGeometry& g = plan.geometry;
  const std::size_t plane = volume(1, g.out_height, g.out_width);
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    plan.expansion->expand({.epilogue = plan.epilogue,
                            .channels = g.out_channels,
                            .rows = g.out_height,
                            .columns = g.out_width,
                            .grad = memory.grad_output + plan.output_floats * group,
                            .grad_plane = plan.output_floats / g.out_channels,
                            .masks = masks_of(plan, memory, group),
                            .mask_plane = plane,
                            .output = expanded + plan.mask_pixels * lanes * group,
                            .output_plane = plane * lanes});
  }
}

void backward_data(const ConvPlan& plan, const OpMemory& memory, const float* grad) {
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    plan.kernels->backward_data({.geometry = plan.geometry,
                                 .padding = plan.padding,
                                 .grad_output = grad + plan.mask_pixels * lanes * group,
                                 .weight = memory.parameters[0],
                                 .grad_input = memory.grad_inputs[0] + plan.input_floats * group,
                                 .row = floats_at(memory.scratch, plan.work_offset)});
  }
}

/// The first layer needs no gradient of its input: its weights' kernel expands a few rows at a time, which
/// stay in the first-level cache. Other layers expand once for both kernels.
void backward(const ConvPlan& plan, const OpMemory& memory) {
  const float* grad = memory.grad_output;
  const float* input = memory.inputs[0];
  if (plan.padding > 0) {
    float* padded = floats_at(memory.scratch, plan.padded_offset);
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      pad_group(plan, input + plan.input_floats * group, padded + plan.padded_floats * group);
    }
    input = padded;
  }
  const bool expand_all = plan.expand && plan.input_gradient;
  if (expand_all) {
    float* expanded = floats_at(memory.scratch, plan.expanded_offset);
    expand_gradient(plan, memory, expanded);
    grad = expanded;
  }
  if (plan.input_gradient && memory.grad_inputs[0] != nullptr) {
    backward_data(plan, memory, grad);
  }
  plan.kernels->backward_weights({.geometry = plan.geometry,
                                  .groups = groups_of(memory.samples),
                                  .input = input,
                                  .grad_output = grad,
                                  .expand = plan.expand && !expand_all,
                                  .epilogue = plan.epilogue,
                                  .masks = masks_of(plan, memory, 0),
                                  .grad_weight = memory.grad_parameters[0],
                                  .grad_bias = memory.grad_parameters[1],
                                  .scratch = floats_at(memory.scratch, plan.work_offset)});
}

/// Sets the plan's offsets; returns the bytes of scratch.
std::size_t lay_out_scratch(ConvPlan& plan, int groups) {
  ScratchLayout layout;
  const bool expand_all = plan.expand && plan.input_gradient;
  plan.zeros_offset = layout.add(plan.has_bias ? 0 : static_cast<std::size_t>(plan.geometry.out_channels));
  plan.padded_offset = layout.add(plan.padding > 0 ? plan.padded_floats * groups : 0);
  plan.expanded_offset = layout.add(expand_all ? plan.mask_pixels * lanes * groups : 0);
  const std::size_t row = plan.padding > 0 && plan.input_gradient
                              ? volume(plan.geometry.in_channels, 1, plan.geometry.in_width) * lanes
                              : 0;
  plan.work_offset =
      layout.add(std::max({plan.kernels->forward_scratch(plan.geometry, plan.epilogue), row,
                           plan.kernels->backward_weights_scratch(plan.geometry, plan.epilogue,
                                                                  plan.expand && !plan.input_gradient)}));
  return layout.bytes();
}

}  // namespace

Op plan_pooled_conv2d(const OpRequest& request) {
  ConvPlan plan = describe(request);
  const int groups = groups_of(request.samples);
  Op op;
  op.scratch_bytes = lay_out_scratch(plan, groups);
  op.saved_bytes = plan.epilogue.relu ? plan.mask_pixels * groups * sizeof(std::uint16_t) : 0;
  op.backward_reads_inputs = true;
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

Op plan(const Conv2d& options, const OpRequest& request) {
  if (request.node.epilogue.pool > 0) {
    return plan_pooled_conv2d(request);
  }
  if (suits_winograd(request)) {
    return plan_winograd(request);
  }
  const bool depthwise = options.groups > 1 && options.groups == request.inputs[0].channels &&
                         options.groups == request.node.shape.channels;
  return depthwise ? plan_depthwise_conv2d(request) : plan_blocked_conv2d(request);
}

}  // namespace lockstep::cpu
