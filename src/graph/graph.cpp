#include "graph/graph.h"

#include <algorithm>
#include <cstdint>

#include "graph/operations.h"
#include "graph/pool_range.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::size_t index(int id) { return static_cast<std::size_t>(id); }

template <class... Kinds>
bool is_one_of(const Operation& operation) {
  return (std::holds_alternative<Kinds>(operation) || ...);
}

/// Leading rows and columns of a layer's input that its leading `rows` x `columns` outputs need. Returns the
/// whole input if the layer has padding, which would replace cropped pixels, or reads or numbers all pixels.
Shape needed_input(const Operation& operation, const Shape& input, int rows, int columns) {
  return std::visit(
      [&]<class Options>(const Options& options) -> Shape {
        if constexpr (Traits<Options>::reads == Reads::same) {
          return {input.channels, rows, columns};
        } else if constexpr (Traits<Options>::reads == Reads::window) {
          bool plain = options.padding == 0;
          if constexpr (requires { options.dilation; }) plain = plain && options.dilation == 1;
          if constexpr (requires { options.ceil_mode; }) plain = plain && !options.ceil_mode;
          if (!plain) return input;
          const auto window = [&](int size, int outputs) {
            return std::clamp((outputs - 1) * options.stride + options.kernel, 1, size);
          };
          return {input.channels, window(input.height, rows), window(input.width, columns)};
        } else {
          return input;
        }
      },
      operation);
}

/// Shape of every layer after cropping: the maximum that any consumer reads. A layer that nothing reads has
/// no channels.
std::vector<Shape> crop_each(const Network& network) {
  const auto& layers = network.layers();
  std::vector<Shape> shapes(layers.size());
  shapes[index(network.output_id())] = layers[index(network.output_id())].shape;
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (shapes[i].channels == 0) {
      continue;
    }
    // Layers that read or count all pixels keep all outputs (the windows of adaptive pooling depend on the
    // number of outputs). The exception is the network's input, which may be cropped.
    const Reads reads = reads_of(layers[i].operation);
    if (reads == Reads::same_of_all || (reads == Reads::all && !layers[i].inputs.empty())) {
      shapes[i] = layers[i].shape;
    }
    for (const int input : layers[i].inputs) {
      const Shape& full = layers[index(input)].shape;
      const Shape needed = needed_input(layers[i].operation, full, shapes[i].height, shapes[i].width);
      Shape& shape = shapes[index(input)];
      shape = {full.channels, std::max(shape.height, needed.height), std::max(shape.width, needed.width)};
    }
  }
  return shapes;
}

bool same_pixels(const Shape& a, const Shape& b) { return a.height == b.height && a.width == b.width; }

/// Shapes after cropping, or uncropped shapes if cropping would make the size of an element-wise layer and
/// its inputs differ.
std::vector<Shape> crop(const Network& network) {
  std::vector<Shape> shapes = crop_each(network);
  const auto& layers = network.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Reads reads = reads_of(layers[i].operation);
    const bool element_wise = reads == Reads::same || reads == Reads::same_of_all;
    for (const int input : layers[i].inputs) {
      if (element_wise && shapes[i].channels != 0 && !same_pixels(shapes[i], shapes[index(input)])) {
        for (std::size_t k = 0; k < layers.size(); ++k) {
          shapes[k] = shapes[k].channels != 0 ? layers[k].shape : Shape{};
        }
        return shapes;
      }
    }
  }
  return shapes;
}

std::vector<int> count_consumers(const Network& network, const std::vector<Shape>& shapes) {
  std::vector<int> consumers(network.layers().size(), 0);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const int input : network.layers()[i].inputs) {
      consumers[index(input)] += shapes[i].channels != 0 ? 1 : 0;
    }
  }
  ++consumers[index(network.output_id())];
  return consumers;
}

bool has_activation(const GraphNode& node) { return node.epilogue.relu || node.epilogue.relu6; }

bool fuse_activation(GraphNode& producer, Activation::Kind kind) {
  const bool norm = std::holds_alternative<BatchNorm2d>(producer.operation);
  if (has_activation(producer) || producer.epilogue.pool != 0) {
    return false;
  }
  if (kind == Activation::Kind::relu && (norm || is_one_of<Conv2d, Linear>(producer.operation))) {
    producer.epilogue.relu = true;
    return true;
  }
  if (kind == Activation::Kind::relu6 && norm) {
    producer.epilogue.relu6 = true;
    return true;
  }
  return false;
}

/// Fuses `layer` into the epilogue of `producer`, its only input, if the order of the epilogue allows it.
bool fuse(GraphNode& producer, const Network::Layer& layer) {
  if (const auto* activation = std::get_if<Activation>(&layer.operation)) {
    return fuse_activation(producer, activation->kind);
  }
  const auto* pool = std::get_if<AvgPool2d>(&layer.operation);
  const auto* conv = std::get_if<Conv2d>(&producer.operation);
  if (pool != nullptr && conv != nullptr && conv->groups == 1 && conv->dilation == 1 &&
      producer.epilogue.pool == 0 && pool->stride == pool->kernel && pool->kernel > 1 && pool->padding == 0 &&
      !pool->ceil_mode && std::int64_t{pool->kernel} * pool->kernel <= pixels_in_one_sum) {
    producer.epilogue.pool = pool->kernel;
    return true;
  }
  return false;
}

/// Builds the graph's nodes layer by layer.
class Fusion {
 public:
  Fusion(const Network& network, std::vector<Shape> shapes)
      : network_(network),
        shapes_(std::move(shapes)),
        consumers_(count_consumers(network, shapes_)),
        node_of_(shapes_.size(), -1) {}

  Graph run() {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (shapes_[i].channels != 0 || i == 0) {
        add(i);
      }
    }
    graph_.output = node_of_[index(network_.output_id())];
    graph_.node_of_layer = std::move(node_of_);
    return std::move(graph_);
  }

 private:
  void add(std::size_t i) {
    const Network::Layer& layer = network_.layers()[i];
    const int host = std::holds_alternative<Add>(layer.operation) ? norm_to_add_to(layer) : fusable(layer);
    if (host >= 0) {
      graph_.nodes[index(host)].shape = shapes_[i];
      node_of_[i] = host;
      return;
    }
    GraphNode node{layer.operation, layer.name, {}, {}, layer.parameters, shapes_[i]};
    for (const int input : layer.inputs) {
      node.inputs.push_back(node_of_[index(input)]);
    }
    node_of_[i] = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
  }

  bool read_once(int layer) const { return consumers_[index(layer)] == 1; }

  /// Fuses the layer into the node of its input if possible. Returns this node, or -1.
  int fusable(const Network::Layer& layer) {
    if (layer.inputs.size() != 1 || !read_once(layer.inputs[0])) {
      return -1;
    }
    const int producer = node_of_[index(layer.inputs[0])];
    return fuse(graph_.nodes[index(producer)], layer) ? producer : -1;
  }

  /// Fuses an addition into the batch norm of one of its inputs if possible. Returns the node of this batch
  /// norm, or -1. The batch norm must be the later of the two inputs, so that the other input is computed
  /// first.
  int norm_to_add_to(const Network::Layer& layer) {
    int norm = node_of_[index(layer.inputs[0])];
    int other = node_of_[index(layer.inputs[1])];
    int norm_layer = layer.inputs[0];
    if (norm < other) {
      std::swap(norm, other);
      norm_layer = layer.inputs[1];
    }
    GraphNode& node = graph_.nodes[index(norm)];
    if (norm == other || !read_once(norm_layer) || !std::holds_alternative<BatchNorm2d>(node.operation) ||
        node.epilogue.add || has_activation(node)) {
      return -1;
    }
    node.epilogue.add = true;
    node.inputs.push_back(other);
    return norm;
  }

  const Network& network_;
  std::vector<Shape> shapes_;
  std::vector<int> consumers_;
  std::vector<int> node_of_;
  Graph graph_;
};

void mark_zero_bias_gradients(Graph& graph) {
  for (const GraphNode& norm : graph.nodes) {
    if (!std::holds_alternative<BatchNorm2d>(norm.operation)) continue;
    const int id = norm.inputs[0];
    GraphNode& producer = graph.nodes[index(id)];
    const bool is_read_otherwise =
        graph.readers_of(id).size() > 1 || std::ranges::count(norm.inputs, id) > 1 || graph.output == id;
    const bool has_bias = is_one_of<Conv2d, Linear>(producer.operation) && producer.parameters.size() == 2;
    producer.zero_bias_gradient =
        has_bias && !producer.epilogue.relu && producer.epilogue.pool == 0 && !is_read_otherwise;
  }
}

}  // namespace

std::vector<int> Graph::readers_of(int node) const {
  std::vector<int> readers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (std::ranges::count(nodes[i].inputs, node) > 0) readers.push_back(static_cast<int>(i));
  }
  return readers;
}

Graph build_graph(const Network& network) {
  if (network.output_id() < 0) {
    throw Error(Category::usage, "the network has no output: call output(logits)");
  }
  Graph graph = Fusion(network, crop(network)).run();
  mark_zero_bias_gradients(graph);
  return graph;
}

}  // namespace lockstep
