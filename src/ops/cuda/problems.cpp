#include "ops/cuda/problems.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

bool is_padded(int channels) { return padded_channels(channels) != channels; }

int padded_groups(const GraphNode& node, const Conv2d& options, int in_channels) {
  if (options.groups == 1 || (!is_padded(in_channels) && !is_padded(options.channels))) return options.groups;
  if (options.groups == in_channels && options.groups == options.channels)
    return padded_channels(in_channels);
  throw Error(Category::usage, node.name + ": " + std::to_string(options.groups) + " groups of " +
                                   std::to_string(in_channels) + " to " + std::to_string(options.channels) +
                                   " channels: on CUDA, grouped convolutions need channels in multiples of " +
                                   std::to_string(channel_unit) +
                                   ", unless each channel is a group; use --device cpu");
}

}  // namespace

ConvProblem conv_problem(const GraphNode& node, Shape input, int samples, Type type) {
  const int window = std::max(node.epilogue.pool, 1);
  ConvProblem problem{.samples = samples,
                      .in_channels = padded_channels(input.channels),
                      .in_height = input.height,
                      .in_width = input.width,
                      .out_channels = padded_channels(node.shape.channels),
                      .out_height = node.shape.height * window,
                      .out_width = node.shape.width * window,
                      .type = type};
  if (const auto* options = std::get_if<Conv2d>(&node.operation)) {
    problem.kernel = options->kernel;
    problem.stride = options->stride;
    problem.padding = options->padding;
    problem.dilation = options->dilation;
    problem.groups = padded_groups(node, *options, input.channels);
  }
  return problem;
}

BatchNormProblem batch_norm_problem(const GraphNode& node, int samples, Type type) {
  return {.samples = samples,
          .channels = padded_channels(node.shape.channels),
          .height = node.shape.height,
          .width = node.shape.width,
          .add = node.epilogue.add,
          .relu = node.epilogue.relu,
          .type = type};
}

}  // namespace lockstep::cuda
