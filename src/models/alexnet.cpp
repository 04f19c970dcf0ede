#include "models/architectures.h"

namespace lockstep {

std::unique_ptr<Network> alexnet(Shape input, int classes) {
  require_input("alexnet", input, 63);
  constexpr double p = 0.5;
  auto network = std::make_unique<Network>(input);
  Value x = network->input();
  x = relu(conv2d(x, {.channels = 64, .kernel = 11, .stride = 4, .padding = 2, .name = "features.0"}));
  x = max_pool2d(x, {.kernel = 3, .stride = 2});
  x = relu(conv2d(x, {.channels = 192, .kernel = 5, .padding = 2, .name = "features.3"}));
  x = max_pool2d(x, {.kernel = 3, .stride = 2});
  x = relu(conv2d(x, {.channels = 384, .kernel = 3, .padding = 1, .name = "features.6"}));
  x = relu(conv2d(x, {.channels = 256, .kernel = 3, .padding = 1, .name = "features.8"}));
  x = relu(conv2d(x, {.channels = 256, .kernel = 3, .padding = 1, .name = "features.10"}));
  x = max_pool2d(x, {.kernel = 3, .stride = 2});
  x = flatten(adaptive_avg_pool2d(x, 6));
  x = relu(linear(dropout(x, p), {.features = 4096, .name = "classifier.1"}));
  x = relu(linear(dropout(x, p), {.features = 4096, .name = "classifier.4"}));
  network->output(linear(x, {.features = classes, .name = "classifier.6"}));
  return network;
}

}  // namespace lockstep
