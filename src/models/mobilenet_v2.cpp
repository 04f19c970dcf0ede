#include "models/architectures.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

/// Convolution, batch norm and ReLU6, called NAME.0, NAME.1 as in torchvision.
Value conv_norm_relu6(Value x, const std::string& name, Conv2d options) {
  options.padding = options.kernel / 2;
  options.bias = false;
  options.weight = Initializer::he_fan_out();
  options.name = name + ".0";
  return relu6(batch_norm2d(conv2d(x, options), {.name = name + ".1"}));
}

/// A row of the paper's table: `repeats` blocks, the first of them with `stride`.
struct TableRow {
  int expansion;
  int channels;
  int repeats;
  int stride;
};
constexpr TableRow table[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                              {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

/// Expansion by a 1x1 convolution, depthwise 3x3 convolution, and projection by a 1x1 convolution without
/// activation; with a shortcut if input and output have the same shape.
Value inverted_residual(Value x, const TableRow& row, int stride, const std::string& name) {
  const int hidden = x.shape().channels * row.expansion;
  int position = 0;
  const auto next_name = [&] { return fmt::format("{}.conv.{}", name, position++); };
  Value y = x;
  if (row.expansion != 1) {
    y = conv_norm_relu6(y, next_name(), {.channels = hidden, .kernel = 1});
  }
  y = conv_norm_relu6(y, next_name(), {.channels = hidden, .kernel = 3, .stride = stride, .groups = hidden});
  y = conv2d(
      y, {.channels = row.channels, .bias = false, .weight = Initializer::he_fan_out(), .name = next_name()});
  y = batch_norm2d(y, {.name = next_name()});
  return stride == 1 && x.shape().channels == row.channels ? x + y : y;
}

}  // namespace

std::unique_ptr<Network> mobilenet_v2(Shape input, int classes) {
  auto network = std::make_unique<Network>(input);
  Value x = conv_norm_relu6(network->input(), "features.0", {.channels = 32, .kernel = 3, .stride = 2});
  int position = 1;
  for (const TableRow& row : table) {
    for (int i = 0; i < row.repeats; ++i) {
      x = inverted_residual(x, row, i == 0 ? row.stride : 1, fmt::format("features.{}", position++));
    }
  }
  x = conv_norm_relu6(x, fmt::format("features.{}", position), {.channels = 1280, .kernel = 1});
  x = dropout(flatten(adaptive_avg_pool2d(x)), 0.2);
  network->output(
      linear(x, {.features = classes, .weight = Initializer::normal(0.01), .name = "classifier.1"}));
  return network;
}

}  // namespace lockstep
