#include "cli/model_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/graph.h"
#include "graph/summary.h"
#include "ops/cpu/cpu_plan.h"

namespace lockstep {
namespace {

/// Name of the node that computes the layer at `position`, if it is the node of an earlier layer; empty: it
/// has a node of its own.
std::string fused_into(const Graph& graph, std::size_t position) {
  const int node = graph.node_of_layer[position];
  if (node < 0) {
    return "not computed";
  }
  const auto before = graph.node_of_layer.begin() + static_cast<std::ptrdiff_t>(position);
  const bool of_earlier = std::find(graph.node_of_layer.begin(), before, node) != before;
  return of_earlier ? graph.nodes[static_cast<std::size_t>(node)].name : "";
}

double megabytes(std::size_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::size_t workspace(const Network& network, int samples, bool training) {
  const PlanOptions options{.samples = samples, .training = training};
  return cpu::CpuPlan(build_graph(network), layout_arena(network.parameters()), options, cpu::best_level())
      .workspace_bytes();
}

}  // namespace

std::string text_of(Shape shape) {
  return shape.height == 1 && shape.width == 1
             ? fmt::format("{}", shape.channels)
             : fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

std::size_t trained_parameters(const Network& network, const Network::Layer& layer) {
  std::size_t count = 0;
  for (const int id : layer.parameters) {
    const Parameter& parameter = network.parameters()[static_cast<std::size_t>(id)];
    count += parameter.trained() ? parameter.size() : 0;
  }
  return count;
}

std::string layer_table(const Network& network) {
  const Graph graph = build_graph(network);
  std::size_t name_width = 5, operation_width = 9;  // of the headings
  for (const Network::Layer& layer : network.layers()) {
    name_width = std::max(name_width, layer.name.size());
    operation_width = std::max(operation_width, describe(layer.operation).size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:>11}  {:>11}  {:>9}  {}\n", "layer", name_width, "operation",
                  operation_width, "output", "parameters", "MFLOPs", "fused into");
  std::size_t parameters = 0;
  std::uint64_t operations = 0;
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Network::Layer& layer = network.layers()[i];
    const std::size_t own_parameters = trained_parameters(network, layer);
    const std::uint64_t own_operations = 2 * multiply_adds(network, layer);
    std::string line = fmt::format(
        "{:<{}}  {:<{}}  {:>11}  {:>11}  {:>9}  {}", layer.name, name_width, describe(layer.operation),
        operation_width, text_of(layer.shape), own_parameters == 0 ? "" : std::to_string(own_parameters),
        own_operations == 0 ? "" : fmt::format("{:.3f}", static_cast<double>(own_operations) / 1e6),
        fused_into(graph, i));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    parameters += own_parameters;
    operations += own_operations;
  }
  return text + fmt::format(
                    "{} layers in {} operations, {} parameters, {:.3f} MFLOPs forward per image "
                    "(a multiply-add is 2)\n",
                    network.layers().size(), graph.nodes.size(), parameters,
                    static_cast<double>(operations) / 1e6);
}

std::string memory_table(const Network& network, int micro_batch) {
  const double arena = megabytes(layout_arena(network.parameters()).elements * sizeof(float));
  std::string text = fmt::format(
      "memory in MB, fp32\n"
      "parameters {:.1f}, each copy of a gradient {:.1f}: an executor that works on m micro-batches of a "
      "step "
      "holds at most 1 + ceil(log2 m) of them\n"
      "workspace of an executor (activations, their gradients, scratch):\n"
      "{:>11}  {:>9}  {:>9}\n",
      arena, arena, "micro-batch", "train", "evaluate");
  for (const int samples : {std::max(1, micro_batch / 2), micro_batch, 2 * micro_batch}) {
    text += fmt::format("{:>11}  {:>9.1f}  {:>9.1f}\n", samples, megabytes(workspace(network, samples, true)),
                        megabytes(workspace(network, samples, false)));
  }
  return text;
}

}  // namespace lockstep
