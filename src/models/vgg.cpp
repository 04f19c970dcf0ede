#include "models/architectures.h"

#include <fmt/format.h>

#include <span>

namespace lockstep {
namespace {

/// Channels of the 3x3 convolutions in the order of the table; 0: 2x2 max pooling.
constexpr int column_a[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
constexpr int column_d[] = {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0};

Value convolutions(Value x, std::span<const int> column, bool batch_norm) {
  int position = 0;  // position in torchvision's list of modules
  const auto next_name = [&] { return fmt::format("features.{}", position++); };
  for (const int channels : column) {
    if (channels == 0) {
      x = max_pool2d(x, {.kernel = 2});
      ++position;
      continue;
    }
    x = conv2d(x, {.channels = channels,
                   .kernel = 3,
                   .padding = 1,
                   .weight = Initializer::he_fan_out(),
                   .name = next_name()});
    if (batch_norm) {
      x = batch_norm2d(x, {.name = next_name()});
    }
    x = relu(x);
    ++position;
  }
  return x;
}

std::unique_ptr<Network> vgg(const char* name, Shape input, int classes, std::span<const int> column,
                             bool batch_norm) {
  require_input(name, input, 32);
  const auto weight = Initializer::normal(0.01);
  auto network = std::make_unique<Network>(input);
  Value x = convolutions(network->input(), column, batch_norm);
  x = flatten(adaptive_avg_pool2d(x, 7));
  x = dropout(relu(linear(x, {.features = 4096, .weight = weight, .name = "classifier.0"})), 0.5);
  x = dropout(relu(linear(x, {.features = 4096, .weight = weight, .name = "classifier.3"})), 0.5);
  network->output(linear(x, {.features = classes, .weight = weight, .name = "classifier.6"}));
  return network;
}

}  // namespace

std::unique_ptr<Network> vgg11(Shape input, int classes) {
  return vgg("vgg11", input, classes, column_a, false);
}
std::unique_ptr<Network> vgg16(Shape input, int classes) {
  return vgg("vgg16", input, classes, column_d, false);
}
std::unique_ptr<Network> vgg11_bn(Shape input, int classes) {
  return vgg("vgg11-bn", input, classes, column_a, true);
}
std::unique_ptr<Network> vgg16_bn(Shape input, int classes) {
  return vgg("vgg16-bn", input, classes, column_d, true);
}

}  // namespace lockstep
