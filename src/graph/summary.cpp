#include "graph/summary.h"

#include <fmt/format.h>

#include <array>

namespace lockstep {
namespace {

std::string window(const char* name, int kernel, int stride, int usual_stride, int padding) {
  std::string text = fmt::format("{} {}x{}", name, kernel, kernel);
  if (stride != usual_stride) text += fmt::format(" stride {}", stride);
  if (padding != 0) text += fmt::format(" padding {}", padding);
  return text;
}

struct Describe {
  std::string operator()(const Input&) const { return "input"; }
  std::string operator()(const Conv2d& conv) const {
    std::string text = window("conv2d", conv.kernel, conv.stride, 1, conv.padding);
    if (conv.dilation != 1) text += fmt::format(" dilation {}", conv.dilation);
    if (conv.groups != 1) text += fmt::format(" groups {}", conv.groups);
    return text;
  }
  std::string operator()(const Linear&) const { return "linear"; }
  std::string operator()(const BatchNorm2d& norm) const {
    const BatchNorm2d usual;
    std::string text = "batch_norm2d";
    if (norm.eps != usual.eps) text += fmt::format(" eps {}", norm.eps);
    if (norm.momentum != usual.momentum) text += fmt::format(" momentum {}", norm.momentum);
    return text;
  }
  std::string operator()(const Activation& activation) const {
    constexpr std::array names{"relu", "relu6", "silu", "gelu"};
    return names[static_cast<std::size_t>(activation.kind)];
  }
  std::string operator()(const MaxPool2d& pool) const {
    return window("max_pool2d", pool.kernel, pool.stride, pool.kernel, pool.padding) +
           (pool.ceil_mode ? " ceil_mode" : "");
  }
  std::string operator()(const AvgPool2d& pool) const {
    return window("avg_pool2d", pool.kernel, pool.stride, pool.kernel, pool.padding) +
           (pool.ceil_mode ? " ceil_mode" : "") + (pool.count_include_pad ? "" : " without padding");
  }
  std::string operator()(const AdaptiveAvgPool2d& pool) const {
    return fmt::format("adaptive_avg_pool2d {}x{}", pool.size, pool.size);
  }
  std::string operator()(const Flatten&) const { return "flatten"; }
  std::string operator()(const Add&) const { return "add"; }
  std::string operator()(const Concat&) const { return "concat"; }
  std::string operator()(const Dropout& dropout) const { return fmt::format("dropout {}", dropout.p); }
};

}  // namespace

std::string describe(const Operation& operation) { return std::visit(Describe{}, operation); }

std::uint64_t multiply_adds(const Network& network, const Network::Layer& layer) {
  const bool counted =
      std::holds_alternative<Conv2d>(layer.operation) || std::holds_alternative<Linear>(layer.operation);
  if (!counted) {
    return 0;
  }
  const Parameter& weight = network.parameters()[static_cast<std::size_t>(layer.parameters[0])];
  const auto pixels =
      static_cast<std::uint64_t>(layer.shape.height) * static_cast<std::uint64_t>(layer.shape.width);
  return weight.size() * pixels;
}

std::vector<std::size_t> layers_of(const Graph& graph, std::size_t node) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < graph.node_of_layer.size(); ++i) {
    if (graph.node_of_layer[i] == static_cast<int>(node)) layers.push_back(i);
  }
  return layers;
}

}  // namespace lockstep
