#include "models/architectures.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

Value conv(Value x, const std::string& name, int channels, int kernel, int stride = 1) {
  return conv2d(x, {.channels = channels,
                    .kernel = kernel,
                    .stride = stride,
                    .padding = kernel / 2,
                    .weight = Initializer::normal(0.01),
                    .name = name});
}

Value residual(Value x, const std::string& name, int channels, int stride) {
  const Value shortcut = stride == 1 ? x : conv(x, name + ".conv3", channels, 1, stride);
  Value y = conv(x, name + ".conv1", channels, 3, stride);
  y = relu(batch_norm2d(y, {.name = name + ".bn1"}));
  y = conv(y, name + ".conv2", channels, 3);
  return relu(batch_norm2d(y, {.name = name + ".bn2"}) + shortcut);
}

}  // namespace

std::unique_ptr<Network> resnet18_d2l(Shape input, int classes) {
  auto network = std::make_unique<Network>(input);
  Value x = conv(network->input(), "0", 64, 3);
  x = relu(batch_norm2d(x, {.name = "1"}));
  int channels = 64;
  for (int stage = 1; stage <= 4; ++stage, channels *= 2) {
    for (int i = 0; i < 2; ++i) {
      x = residual(x, fmt::format("resnet_block{}.{}", stage, i), channels, stage > 1 && i == 0 ? 2 : 1);
    }
  }
  x = flatten(adaptive_avg_pool2d(x));
  network->output(linear(x, {.features = classes, .weight = Initializer::normal(0.01), .name = "fc.1"}));
  return network;
}

}  // namespace lockstep
