#include "models/architectures.h"

namespace lockstep {

std::unique_ptr<Network> lenet(Shape input, int classes) {
  require_input("lenet", input, 14);
  const auto weight = Initializer::normal(0.01);
  auto network = std::make_unique<Network>(input);
  Value x = network->input();
  x = relu(conv2d(x, {.channels = 20, .kernel = 3, .weight = weight}));
  x = avg_pool2d(x, {.kernel = 2});
  x = relu(conv2d(x, {.channels = 50, .kernel = 5, .weight = weight}));
  x = avg_pool2d(x, {.kernel = 2});
  x = relu(linear(flatten(x), {.features = 128, .weight = weight}));
  network->output(linear(x, {.features = classes, .weight = weight}));
  return network;
}

}  // namespace lockstep
