#include "ops/cuda/dnn/flattening.h"

#include <algorithm>

namespace lockstep::cuda {
namespace {

/// Maximum number of weights for which another pass over the weights and their gradients takes less time than
/// moving the activations, which costs two launches: the time to read and write 4 MB twice (computed, not
/// measured).
constexpr std::size_t cheap_weights = std::size_t{1} << 20;

const GraphNode& node_at(const Graph& graph, int id) { return graph.nodes[static_cast<std::size_t>(id)]; }

/// Whether a linear layer should read an image as stored: always if the image is a single pixel; else if
/// reordering the layer's weights is cheap (bf16 rewrites them anyway) and padding channels add at most a
/// quarter to the weights.
bool reads_images_well(const Shape& image, const GraphNode& linear, Type type) {
  if (image.height * image.width == 1) return true;
  if (4 * padded_channels(image.channels) > 5 * image.channels) return false;
  return type == Type::bf16 || image.size() * linear.shape.size() <= cheap_weights;
}

}  // namespace

Graph without_flattening(Graph graph, Type type) {
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    const auto id = static_cast<int>(i);
    if (!std::holds_alternative<Flatten>(graph.nodes[i].operation) || id == graph.output) continue;
    const int image = graph.nodes[i].inputs[0];
    const std::vector<int> readers = graph.readers_of(id);
    const bool all = std::ranges::all_of(readers, [&](int reader) {
      const GraphNode& node = node_at(graph, reader);
      return std::holds_alternative<Linear>(node.operation) &&
             reads_images_well(node_at(graph, image).shape, node, type);
    });
    if (!all || readers.empty()) continue;
    for (const int reader : readers) graph.nodes[static_cast<std::size_t>(reader)].inputs[0] = image;
    graph.nodes[i].inputs.clear();
  }
  return graph;
}

}  // namespace lockstep::cuda
