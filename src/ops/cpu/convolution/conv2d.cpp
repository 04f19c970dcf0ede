#include <algorithm>
#include <cstring>

#include "graph/operations.h"
#include "ops/cpu/convolution/conv2d.h"
#include "ops/cpu/convolution/conv_taps.h"
#include "ops/cpu/convolution/kernels/direct_conv.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// A convolution planned for a number of samples.
struct DirectConvLayer {
  const DirectConvKernels* kernels;
  ConvGeometry geometry;  ///< input including padding
  int padding;
  PoolEpilogue epilogue;
  bool has_bias;
  bool input_gradient;

  // Sizes per group of images.
  std::size_t input_floats;  ///< without padding
  std::size_t padded_floats;
  std::size_t output_floats;  ///< as stored
  std::size_t mask_pixels;
  // Offsets in scratch memory.
  std::size_t zeros_offset;  ///< offset of zeros that replace a missing bias
  std::size_t padded_offset;
  std::size_t expanded_offset;
  std::size_t work_offset;
};

std::size_t volume(int channels, int height, int width) { return Shape{channels, height, width}.size(); }

ConvGeometry geometry_of(const OpRequest& request, const Conv2d& options, int window) {
  const Shape& input = request.inputs[0];
  const Shape& stored = request.node.shape;
  return {.in_channels = input.channels,
          .in_height = input.height + 2 * options.padding,
          .in_width = input.width + 2 * options.padding,
          .out_channels = stored.channels,
          .out_height = stored.height * window,
          .out_width = stored.width * window,
          .kernel = options.kernel,
          .stride = options.stride};
}

DirectConvLayer direct_layer(const OpRequest& request) {
  const auto& options = std::get<Conv2d>(request.node.operation);
  const PoolEpilogue epilogue{request.node.epilogue.relu, request.node.epilogue.pool};
  const ConvGeometry g = geometry_of(request, options, epilogue.window);
  DirectConvLayer layer{};
  layer.kernels = &direct_conv_kernels(request.level);
  layer.geometry = g;
  layer.padding = options.padding;
  layer.epilogue = epilogue;
  layer.has_bias = options.bias;
  layer.input_gradient = request.input_gradient;
  layer.input_floats = request.inputs[0].size() * lanes;
  layer.padded_floats = volume(g.in_channels, g.in_height, g.in_width) * lanes;
  layer.output_floats = request.node.shape.size() * lanes;
  layer.mask_pixels = volume(g.out_channels, g.out_height, g.out_width);
  return layer;
}

/// Copies one group of images and pads them with zeros.
void pad_group(const DirectConvLayer& layer, const float* input, float* padded) {
  const ConvGeometry& g = layer.geometry;
  const std::size_t row = static_cast<std::size_t>(g.in_width) * lanes;
  const std::size_t edge = static_cast<std::size_t>(layer.padding) * lanes;
  const std::size_t inner = row - 2 * edge;
  std::fill_n(padded, layer.padded_floats, 0.0F);
  for (int c = 0; c < g.in_channels; ++c) {
    for (int r = layer.padding; r < g.in_height - layer.padding; ++r, input += inner) {
      std::memcpy(padded + row * (static_cast<std::size_t>(c) * g.in_height + r) + edge, input,
                  inner * sizeof(float));
    }
  }
}

std::uint16_t* masks_of_group(const DirectConvLayer& layer, const OpMemory& memory, int group) {
  return layer.epilogue.relu ? reinterpret_cast<std::uint16_t*>(memory.saved) + layer.mask_pixels * group
                             : nullptr;
}

void forward(const DirectConvLayer& layer, const OpMemory& memory) {
  float* padded = floats_at(memory.scratch, layer.padded_offset);
  const float* bias = memory.parameters[1];
  if (bias == nullptr) {
    float* zeros = floats_at(memory.scratch, layer.zeros_offset);
    std::fill_n(zeros, layer.geometry.out_channels, 0.0F);
    bias = zeros;
  }
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    const float* input = memory.inputs[0] + layer.input_floats * group;
    if (layer.padding > 0) {
      pad_group(layer, input, padded);
      input = padded;
    }
    layer.kernels->forward({.geometry = layer.geometry,
                            .epilogue = layer.epilogue,
                            .input = input,
                            .weight = memory.parameters[0],
                            .bias = bias,
                            .output = memory.output + layer.output_floats * group,
                            .masks = masks_of_group(layer, memory, group),
                            .rows = floats_at(memory.scratch, layer.work_offset)});
  }
}

/// Computes the gradient before the epilogue, for all groups.
void expand_gradient(const DirectConvLayer& layer, const OpMemory& memory, float* expanded) {
  const ConvGeometry& g = layer.geometry;
  const std::size_t plane = volume(1, g.out_height, g.out_width);
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    layer.kernels->expand({.epilogue = layer.epilogue,
                           .channels = g.out_channels,
                           .rows = g.out_height,
                           .columns = g.out_width,
                           .grad = memory.grad_output + layer.output_floats * group,
                           .grad_plane = layer.output_floats / g.out_channels,
                           .masks = masks_of_group(layer, memory, group),
                           .mask_plane = plane,
                           .output = expanded + layer.mask_pixels * lanes * group,
                           .output_plane = plane * lanes});
  }
}

void backward_data(const DirectConvLayer& layer, const OpMemory& memory, const float* grad) {
  for (int group = 0; group < groups_of(memory.samples); ++group) {
    layer.kernels->backward_data({.geometry = layer.geometry,
                                  .padding = layer.padding,
                                  .grad_output = grad + layer.mask_pixels * lanes * group,
                                  .weight = memory.parameters[0],
                                  .grad_input = memory.grad_inputs[0] + layer.input_floats * group,
                                  .row = floats_at(memory.scratch, layer.work_offset)});
  }
}

/// Undoes the epilogue once for both gradients. If the input's gradient is not needed (first layer), the
/// kernel of the weights' gradient undoes it for a few rows at a time, which stay in the first-level cache.
void backward(const DirectConvLayer& layer, const OpMemory& memory) {
  const float* grad = memory.grad_output;
  const float* input = memory.inputs[0];
  if (layer.padding > 0) {
    float* padded = floats_at(memory.scratch, layer.padded_offset);
    for (int group = 0; group < groups_of(memory.samples); ++group) {
      pad_group(layer, input + layer.input_floats * group, padded + layer.padded_floats * group);
    }
    input = padded;
  }
  if (layer.input_gradient) {
    float* expanded = floats_at(memory.scratch, layer.expanded_offset);
    expand_gradient(layer, memory, expanded);
    grad = expanded;
  }
  if (memory.grad_inputs[0] != nullptr) {
    backward_data(layer, memory, grad);
  }
  layer.kernels->backward_weights({.geometry = layer.geometry,
                                   .groups = groups_of(memory.samples),
                                   .input = input,
                                   .grad_output = grad,
                                   .expand = !layer.input_gradient,
                                   .epilogue = layer.epilogue,
                                   .masks = masks_of_group(layer, memory, 0),
                                   .grad_weight = memory.grad_parameters[0],
                                   .grad_bias = memory.grad_parameters[1],
                                   .scratch = floats_at(memory.scratch, layer.work_offset)});
}

/// Sets the offsets of the layer; returns the bytes of scratch memory.
std::size_t lay_out_scratch(DirectConvLayer& layer, int groups) {
  ScratchLayout layout;
  layer.zeros_offset = layout.add(layer.has_bias ? 0 : static_cast<std::size_t>(layer.geometry.out_channels));
  layer.padded_offset = layout.add(layer.padding > 0 ? layer.padded_floats * groups : 0);
  layer.expanded_offset = layout.add(layer.input_gradient ? layer.mask_pixels * lanes * groups : 0);
  const std::size_t row = layer.padding > 0 && layer.input_gradient
                              ? volume(layer.geometry.in_channels, 1, layer.geometry.in_width) * lanes
                              : 0;
  layer.work_offset = layout.add(std::max(
      {layer.kernels->forward_scratch(layer.geometry, layer.epilogue), row,
       layer.kernels->backward_weights_scratch(layer.geometry, layer.epilogue, !layer.input_gradient)}));
  return layout.bytes();
}

/// Supports average pooling inside the kernel, without storing unpooled pixels, but neither groups nor
/// dilation.
Op plan_pooled_conv2d(const OpRequest& request) {
  DirectConvLayer layer = direct_layer(request);
  const std::size_t scratch_bytes = lay_out_scratch(layer, groups_of(request.samples));
  Op op = op_of(layer);
  op.scratch_bytes = scratch_bytes;
  op.saved_bytes = layer.epilogue.relu ? mask_bytes(layer.mask_pixels, request.samples) : 0;
  op.backward_reads_inputs = 1;
  return op;
}

/// Refuses kernels for which place() would need more than 3 GiB: it stores a number per tap and pixel, of the
/// output in forward and of the input in backward.
void check_places(const Conv2d& options, const OpRequest& request) {
  constexpr std::size_t most_places = std::size_t{3} << 28;
  const Shape& input = request.inputs[0];
  std::size_t pixels = plane_of(request.node.shape);
  if (request.input_gradient) pixels = std::max(pixels, plane_of(input) / options.stride / options.stride);
  const std::size_t taps = static_cast<std::size_t>(options.kernel) * options.kernel;
  if (taps * pixels <= most_places) return;
  LayerContext{.name = request.node.name}.refuse("windows of ", options.kernel, "x", options.kernel,
                                                 " pixels are too large for images of ", input, " on CPUs");
}

}  // namespace

Op plan(const Conv2d& options, const OpRequest& request) {
  if (request.node.epilogue.pool > 0) {
    return plan_pooled_conv2d(request);
  }
  if (suits_winograd(request)) {
    return plan_winograd(request);
  }
  if (Traits<Conv2d>::by_channel(options, request.inputs[0])) {
    return plan_depthwise_conv2d(request);
  }
  check_places(options, request);
  return suits_bf16_product(request) ? plan_bf16_product_conv2d(request) : plan_blocked_conv2d(request);
}

}  // namespace lockstep::cpu
