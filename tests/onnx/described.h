#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "graph/summary.h"
#include "lockstep/network.h"

namespace lockstep::test {

/// Whether exporters may omit a layer or merge it into another one.
inline bool may_be_missing(const Network& network, const Network::Layer& layer, bool batch_norm_too) {
  if (std::holds_alternative<BatchNorm2d>(layer.operation)) return batch_norm_too;
  const bool resizes = !layer.inputs.empty() &&
                       network.layers()[static_cast<std::size_t>(layer.inputs[0])].shape != layer.shape;
  return std::holds_alternative<Dropout>(layer.operation) ||
         (std::holds_alternative<AdaptiveAvgPool2d>(layer.operation) && !resizes);
}

/// Layers with their operations and inputs, except layers that exporters may omit.
inline std::vector<std::string> described(const Network& network, bool batch_norm = true) {
  std::vector<std::string> layers;
  std::vector<std::size_t> numbers;  // position of each layer in the description
  for (const Network::Layer& layer : network.layers()) {
    if (may_be_missing(network, layer, !batch_norm)) {
      numbers.push_back(numbers[static_cast<std::size_t>(layer.inputs[0])]);
      continue;
    }
    std::string text = describe(layer.operation);
    for (const int input : layer.inputs) {
      text += fmt::format(" of {}", numbers[static_cast<std::size_t>(input)]);
    }
    numbers.push_back(layers.size());
    layers.push_back(text);
  }
  return layers;
}

}  // namespace lockstep::test
