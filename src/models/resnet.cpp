#include "models/architectures.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "models/residual_blocks.h"

namespace lockstep {
namespace {

using Block = Value (*)(Value, const ResidualBlock&);

/// Blocks layerI.0, layerI.1, ... of each stage I; channels double from stage to stage, and the first block
/// of all stages but the first halves the image.
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
