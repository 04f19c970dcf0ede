#include "models/architectures.h"

namespace lockstep {

std::unique_ptr<Network> mlp(Shape input, int classes, const std::vector<int>& widths) {
  const auto weight = Initializer::normal(0.01);
  auto network = std::make_unique<Network>(input);
  Value x = flatten(network->input());
  for (const int width : widths) {
    x = relu(linear(x, {.features = width, .weight = weight}));
  }
  network->output(linear(x, {.features = classes, .weight = weight}));
  return network;
}

}  // namespace lockstep
