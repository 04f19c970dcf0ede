#include "graph/graph.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

std::size_t index(int id) { return static_cast<std::size_t>(id); }

/// Leading rows and columns of a layer's input that its own leading `rows` x `columns` read.
Shape needed_input(const Operation& operation, const Shape& input, int rows, int columns) {
  const auto window = [](int size, int kernel, int stride, int padding, int outputs) {
    return std::clamp((outputs - 1) * stride + kernel - padding, 1, size);
  };
  Shape needed = input;
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    needed.height = window(input.height, conv->kernel, conv->stride, conv->padding, rows);
    needed.width = window(input.width, conv->kernel, conv->stride, conv->padding, columns);
  } else if (const auto* pool = std::get_if<AvgPool2d>(&operation)) {
    needed.height = window(input.height, pool->kernel, pool->stride, 0, rows);
    needed.width = window(input.width, pool->kernel, pool->stride, 0, columns);
  } else if (std::holds_alternative<Relu>(operation) || std::holds_alternative<Add>(operation)) {
    needed.height = rows;
    needed.width = columns;
  }
  return needed;
}

/// A convolution pads what it reads: a cropped input would be padded where pixels were.
bool may_crop(const Operation& operation) {
  const auto* conv = std::get_if<Conv2d>(&operation);
  return conv == nullptr || conv->padding == 0;
}

/// Shape of every layer after cropping: the largest part that any consumer reads.
std::vector<Shape> crop(const Network& network) {
  const auto& layers = network.layers();
  std::vector<Shape> shapes(layers.size());
  shapes[index(network.output_id())] = layers[index(network.output_id())].shape;
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (shapes[i].channels == 0) {
      continue;  // nobody reads this layer
    }
    for (const int input : layers[i].inputs) {
      const Shape& full = layers[index(input)].shape;
      const Shape needed = may_crop(layers[i].operation)
                               ? needed_input(layers[i].operation, full, shapes[i].height, shapes[i].width)
                               : full;
      Shape& shape = shapes[index(input)];
      shape = {full.channels, std::max(shape.height, needed.height), std::max(shape.width, needed.width)};
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

bool is_compute(const Operation& operation) {
  return std::holds_alternative<Conv2d>(operation) || std::holds_alternative<Linear>(operation);
}

/// Takes `layer` into the epilogue of `producer` where the epilogue's order allows it.
bool fuse(GraphNode& producer, const Network::Layer& layer) {
  if (std::holds_alternative<Relu>(layer.operation) && is_compute(producer.operation) &&
      producer.epilogue.pool == 0 && !producer.epilogue.relu) {
    producer.epilogue.relu = true;
    return true;
  }
  const auto* pool = std::get_if<AvgPool2d>(&layer.operation);
  if (pool != nullptr && std::holds_alternative<Conv2d>(producer.operation) && producer.epilogue.pool == 0 &&
      pool->stride == pool->kernel && pool->kernel > 1) {
    producer.epilogue.pool = pool->kernel;
    return true;
  }
  return false;
}

}  // namespace

Graph build_graph(const Network& network) {
  if (network.output_id() < 0) {
    throw Error(Category::usage, "the network has no output: call output(logits)");
  }
  const std::vector<Shape> shapes = crop(network);
  const std::vector<int> consumers = count_consumers(network, shapes);
  std::vector<int> node_of(shapes.size(), -1);
  Graph graph;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Network::Layer& layer = network.layers()[i];
    if (shapes[i].channels == 0 && i != 0) {
      continue;
    }
    if (layer.inputs.size() == 1 && consumers[index(layer.inputs[0])] == 1) {
      const int producer = node_of[index(layer.inputs[0])];
      if (fuse(graph.nodes[index(producer)], layer)) {
        graph.nodes[index(producer)].shape = shapes[i];
        node_of[i] = producer;
        continue;
      }
    }
    GraphNode node{layer.operation, layer.name, {}, {}, layer.parameters, shapes[i]};
    for (const int input : layer.inputs) {
      node.inputs.push_back(node_of[index(input)]);
    }
    node_of[i] = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(std::move(node));
  }
  graph.output = node_of[index(network.output_id())];
  return graph;
}

}  // namespace lockstep
