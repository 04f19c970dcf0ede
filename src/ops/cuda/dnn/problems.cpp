#include "ops/cuda/dnn/problems.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::cuda {
namespace {

bool is_padded(int channels) { return padded_channels(channels) != channels; }

int padded_groups(const Conv2d& options, int in_channels) {
  if (options.groups == 1 || (!is_padded(in_channels) && !is_padded(options.channels))) return options.groups;
  const bool depthwise = options.groups == in_channels && options.groups == options.channels;
  return depthwise ? padded_channels(in_channels) : 1;
}

/// Chooses the padding after the last row. If rounding down allows several values, prefers symmetric padding,
/// for which libraries are tuned.
ConvExtent extent(const ConvProblem& problem, int in, int out) {
  const int read = (out - 1) * problem.stride + problem.dilation * (problem.kernel - 1) + 1 - problem.padding;
  const int min_padding = read - in;
  const int max_padding = min_padding + problem.stride - 1;
  if (min_padding <= problem.padding && problem.padding <= max_padding) return {in, problem.padding};
  if (min_padding >= 0) return {in, min_padding};
  if (max_padding >= 0) return {in, 0};
  return {read, 0};
}

/// Name of an engine without its settings: "eng41" for "eng41_k2=4".
std::string_view number_of(std::string_view engine) { return engine.substr(0, engine.find('_')); }

}  // namespace

ConvExtent rows_of(const ConvProblem& problem) {
  return extent(problem, problem.in_height, problem.out_height);
}

ConvExtent columns_of(const ConvProblem& problem) {
  return extent(problem, problem.in_width, problem.out_width);
}

std::string describe(const ConvProblem& p) {
  std::string text =
      fmt::format("{} {}x{}x{}x{} -> {}x{}x{}, kernel {}", name_of(p.type), p.samples, p.in_height,
                  p.in_width, p.in_channels, p.out_height, p.out_width, p.out_channels, p.kernel);
  if (p.stride != 1) text += fmt::format(", stride {}", p.stride);
  if (p.padding != 0) text += fmt::format(", padding {}", p.padding);
  if (p.dilation != 1) text += fmt::format(", dilation {}", p.dilation);
  if (p.groups != 1) text += fmt::format(", {} groups", p.groups);
  return text;
}

std::string describe(const ConvTask& task) {
  return fmt::format("convolution {}{}{}: {}", name_of(task.direction), task.bias ? " + bias" : "",
                     task.relu ? " + relu" : "", describe(task.problem));
}

bool is_wrong(const ConvProblem& problem, ConvDirection direction, std::string_view engine, bool fft) {
  if (direction == ConvDirection::forward) return false;
  // In backward passes, these engines mistake the padding before the first row (or column) for the padding
  // after the last.
  const bool symmetric = rows_of(problem).padding_after == problem.padding &&
                         columns_of(problem).padding_after == problem.padding;
  const std::string_view number = number_of(engine);
  if (!symmetric && (fft || number == "eng1")) return true;
  // eng17 rounds products or sums of depthwise convolutions, which causes errors of 7e-4.
  return direction == ConvDirection::backward_weights && problem.type != Type::bf16 && problem.groups > 1 &&
         number == "eng17";
}

std::string_view reason_to_avoid(const ConvProblem& problem, std::string_view engine,
                                 std::size_t workspace_bytes) {
  if (number_of(engine) == "eng0") return "generic: for every problem, slow for most";
  const auto pixels = [&](int height, int width, int channels) {
    return static_cast<std::size_t>(problem.samples) * static_cast<std::size_t>(height * width * channels);
  };
  const std::size_t images = (pixels(problem.in_height, problem.in_width, problem.in_channels) +
                              pixels(problem.out_height, problem.out_width, problem.out_channels)) *
                             bytes_of(problem.type);
  // Without tensor cores (fp32), the layout matters less.
  const bool converts =
      problem.type != Type::fp32 && workspace_bytes >= images && workspace_bytes <= images + images / 100;
  return converts ? "converts the images to another layout in its workspace" : "";
}

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
  if (std::holds_alternative<Linear>(node.operation)) {
    problem.in_channels *= input.height * input.width;
    problem.in_height = problem.in_width = 1;
  }
  if (const auto* options = std::get_if<Conv2d>(&node.operation)) {
    problem.kernel = options->kernel;
    problem.stride = options->stride;
    problem.padding = options->padding;
    problem.dilation = options->dilation;
    problem.groups = padded_groups(*options, input.channels);
  }
  return problem;
}

}  // namespace lockstep::cuda
