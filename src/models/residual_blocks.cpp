#include "models/residual_blocks.h"

namespace lockstep {
namespace {

/// The input, or a 1x1 convolution and batch norm of it if shapes differ (option B).
Value shortcut(Value x, Value y, const ResidualBlock& block) {
  if (x.shape() == y.shape()) {
    return x;
  }
  x = residual_conv(x, block.name + ".downsample.0", y.shape().channels, 1, block.stride);
  return batch_norm2d(x, {.name = block.name + ".downsample.1"});
}

}  // namespace

Value residual_conv(Value x, const std::string& name, int channels, int kernel, int stride) {
  return conv2d(x, {.channels = channels,
                    .kernel = kernel,
                    .stride = stride,
                    .padding = kernel / 2,
                    .bias = false,
                    .weight = Initializer::he_fan_out(),
                    .name = name});
}

Value basic_block(Value x, const ResidualBlock& block) {
  const auto& [channels, stride, name] = block;
  Value y = residual_conv(x, name + ".conv1", channels, 3, stride);
  y = relu(batch_norm2d(y, {.name = name + ".bn1"}));
  y = residual_conv(y, name + ".conv2", channels, 3);
  y = batch_norm2d(y, {.name = name + ".bn2"});
  return relu(y + shortcut(x, y, block));
}

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

}  // namespace lockstep
