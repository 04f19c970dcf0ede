#include "ops/traffic.h"

namespace lockstep {

std::vector<NodeTraffic> count_traffic(const Graph& graph, const ArenaLayout& layout,
                                       const GradientFlow& flow, std::span<const NodeBytes> nodes) {
  std::vector<NodeTraffic> traffic(graph.nodes.size());
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const NodeBytes& bytes = nodes[i];
    std::size_t inputs = 0, inputs_again = 0, input_gradients = 0, parameters = 0;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::size_t value = nodes[static_cast<std::size_t>(node.inputs[k])].value;
      inputs += value;
      if (k < bytes.backward_reads_inputs) inputs_again += value;
      if (flow.contributions[i][k].wanted) input_gradients += value;
    }
    for (const int id : node.parameters) {
      const auto parameter = static_cast<std::size_t>(id);
      parameters += (layout.end_of(parameter) - layout.offsets[parameter]) * sizeof(float);
    }
    traffic[i].forward = static_cast<double>(inputs + bytes.value + bytes.saved + parameters);
    if (!flow.needed[i]) continue;
    const std::size_t read = bytes.value + bytes.saved + parameters + inputs_again +
                             (bytes.backward_reads_output ? bytes.value : 0);
    traffic[i].backward = static_cast<double>(read + input_gradients + parameters);
  }
  return traffic;
}

}  // namespace lockstep
