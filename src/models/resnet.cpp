#include "models/architectures.h"

#include <fmt/format.h>

#include <array>
#include <span>

namespace lockstep {
namespace {

/// Building block of residual networks. Layers are called NAME.conv1, NAME.bn1, ... Weights are initialized
/// as in torchvision.
struct ResidualBlock {
  int channels = 0;  ///< output channels of the 3x3 convolutions
  int stride = 1;
  std::string name;
};

/// Convolution without bias, with padding kernel / 2 and weights initialized by he_fan_out.
Value residual_conv(Value x, const std::string& name, int channels, int kernel, int stride = 1) {
  return conv2d(x, {.channels = channels,
                    .kernel = kernel,
                    .stride = stride,
                    .padding = kernel / 2,
                    .bias = false,
                    .weight = Initializer::he_fan_out(),
                    .name = name});
}

/// The block's input `x` or, if the shapes of `x` and `y` differ, a 1x1 convolution and batch norm of `x`
/// (option B).
Value shortcut(Value x, Value y, const ResidualBlock& block) {
  if (x.shape() == y.shape()) {
    return x;
  }
  x = residual_conv(x, block.name + ".downsample.0", y.shape().channels, 1, block.stride);
  return batch_norm2d(x, {.name = block.name + ".downsample.1"});
}

/// Two 3x3 convolutions (figure 5, left).
Value basic_block(Value x, const ResidualBlock& block) {
  const auto& [channels, stride, name] = block;
  Value y = residual_conv(x, name + ".conv1", channels, 3, stride);
  y = relu(batch_norm2d(y, {.name = name + ".bn1"}));
  y = residual_conv(y, name + ".conv2", channels, 3);
  y = batch_norm2d(y, {.name = name + ".bn2"});
  return relu(y + shortcut(x, y, block));
}

/// 1x1, 3x3 and 1x1 convolutions, the last with four times the channels (figure 5, right). The 3x3
/// convolution has the stride, as in ResNet v1.5.
Value bottleneck_block(Value x, const ResidualBlock& block) {
  const auto& [channels, stride, name] = block;
  Value y = residual_conv(x, name + ".conv1", channels, 1);
  y = relu(batch_norm2d(y, {.name = name + ".bn1"}));
  y = residual_conv(y, name + ".conv2", channels, 3, stride);
  y = relu(batch_norm2d(y, {.name = name + ".bn2"}));
  y = residual_conv(y, name + ".conv3", 4 * channels, 1);
  y = batch_norm2d(y, {.name = name + ".bn3"});
  return relu(y + shortcut(x, y, block));
}

using Block = Value (*)(Value, const ResidualBlock&);

/// Stages I = 1, 2, ... of blocks layerI.0, layerI.1, ... Channels double from stage to stage, and the first
/// block of every stage but the first halves the image.
Value residual_stages(Value x, Block block, std::span<const int> repeats, int channels) {
  int number = 0;
  for (const int count : repeats) {
    ++number;
    for (int i = 0; i < count; ++i) {
      x = block(x, {.channels = channels,
                    .stride = number > 1 && i == 0 ? 2 : 1,
                    .name = fmt::format("layer{}.{}", number, i)});
    }
    channels *= 2;
  }
  return x;
}

Value classifier(Value x, int classes) {
  return linear(flatten(adaptive_avg_pool2d(x)), {.features = classes, .name = "fc"});
}

std::unique_ptr<Network> resnet(Shape input, int classes, Block block, std::span<const int> repeats) {
  auto network = std::make_unique<Network>(input);
  Value x = residual_conv(network->input(), "conv1", 64, 7, 2);
  x = relu(batch_norm2d(x, {.name = "bn1"}));
  x = max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
  network->output(classifier(residual_stages(x, block, repeats, 64), classes));
  return network;
}

}  // namespace

std::unique_ptr<Network> resnet18(Shape input, int classes) {
  return resnet(input, classes, basic_block, std::to_array({2, 2, 2, 2}));
}
std::unique_ptr<Network> resnet34(Shape input, int classes) {
  return resnet(input, classes, basic_block, std::to_array({3, 4, 6, 3}));
}
std::unique_ptr<Network> resnet50(Shape input, int classes) {
  return resnet(input, classes, bottleneck_block, std::to_array({3, 4, 6, 3}));
}

std::unique_ptr<Network> resnet20(Shape input, int classes) {
  auto network = std::make_unique<Network>(input);
  Value x = residual_conv(network->input(), "conv1", 16, 3);
  x = relu(batch_norm2d(x, {.name = "bn1"}));
  network->output(classifier(residual_stages(x, basic_block, std::to_array({3, 3, 3}), 16), classes));
  return network;
}

}  // namespace lockstep
