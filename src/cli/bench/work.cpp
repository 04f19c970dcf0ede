#include "cli/bench/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/summary.h"

namespace lockstep {

std::vector<NodeWork> work_of(const Network& network, const Graph& graph, const CompiledGraph& compiled,
                              double samples) {
  const GradientFlow flow = compiled.gradients();
  const std::vector<NodeTraffic> traffic = compiled.traffic();
  std::vector<NodeWork> nodes(graph.nodes.size());
  double forward = 0.0, backward = 0.0;  // of nodes without traffic, which are fused with a later node
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    double flop = 0.0;
    for (const std::size_t layer : layers_of(graph, node)) {
      flop += 2.0 * samples * static_cast<double>(multiply_adds(network, network.layers()[layer]));
    }
    const bool of_input = std::ranges::any_of(flow.contributions[node], &Contribution::wanted);
    forward += flop;
    if (flow.needed[node]) backward += of_input ? 2.0 * flop : flop;
    if (traffic[node].forward == 0.0) continue;
    const bool bf16 = compiled.multiplies_bf16(node);
    nodes[node].forward = {std::exchange(forward, 0.0), traffic[node].forward, bf16};
    if (!flow.needed[node]) continue;
    nodes[node].backward = {std::exchange(backward, 0.0), traffic[node].backward, bf16};
  }
  return nodes;
}

std::string text_of(const ThreadLimits& limits) {
  std::string text = fmt::format("a thread can do {:.0f} GFLOP/s (fma)", limits.flop_per_s * 1e-9);
  if (limits.bf16_flop_per_s) text += fmt::format(", {:.0f} (bf16)", *limits.bf16_flop_per_s * 1e-9);
  text += ", and move";
  for (const MemoryLimit& memory : limits.memory) {
    text += fmt::format("{} {:.0f} GB/s ({})", &memory == &limits.memory.front() ? "" : ",",
                        memory.bytes_per_s * 1e-9, memory.name);
  }
  return text + "\n";
}

std::string limit_cell(const std::string& limit, double limit_seconds, double seconds) {
  return fmt::format("{:>6}  {:>6}", limit,
                     limit_seconds > 0.0 ? fmt::format("{:.0f} %", 100.0 * limit_seconds / seconds) : "");
}

}  // namespace lockstep
