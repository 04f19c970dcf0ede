#include "cli/model/model_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/options/text.h"
#include "core/text/printable.h"
#include "graph/graph.h"
#include "graph/summary.h"
#include "ops/cpu/cpu_plan.h"

namespace lockstep {
namespace {

/// Name of the earlier layer's node that computes the layer at `position`; empty if the layer has a separate
/// node.
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

std::size_t workspace(const Network& network, const PlanOptions& options) {
  return cpu::CpuPlan(build_graph(network), layout_arena(network.parameters()), options, cpu::best_level())
      .workspace_bytes();
}

std::string layer_table(const NetworkSummary& network) {
  std::size_t name_width = 5, operation_width = 9;  // widths of the headings
  for (const LayerSummary& layer : network.layers) {
    name_width = std::max(name_width, layer.name.size());
    operation_width = std::max(operation_width, layer.operation.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:>11}  {:>11}  {:>9}  {}\n", "layer", name_width, "operation",
                  operation_width, "output", "parameters", "MFLOPs", "fused into");
  for (const LayerSummary& layer : network.layers) {
    const std::string line = fmt::format(
        "{:<{}}  {:<{}}  {:>11}  {:>11}  {:>9}  {}", layer.name, name_width, layer.operation, operation_width,
        text_of(layer.output), layer.parameters == 0 ? "" : std::to_string(layer.parameters),
        layer.flop == 0 ? "" : fmt::format("{:.3f}", static_cast<double>(layer.flop) / 1e6),
        layer.fused_into);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text + fmt::format(
                    "{} in {}, {} parameters, {:.3f} MFLOPs forward per image (a "
                    "multiply-add is 2)\n",
                    counted(network.layers.size(), "layer"), counted(network.operations, "operation"),
                    network.parameters, static_cast<double>(network.flop) / 1e6);
}

std::string memory_table(const NetworkSummary& network) {
  const double arena = megabytes(network.parameter_bytes);
  std::string text = fmt::format(
      "memory in MB, fp32\n"
      "parameters {:.1f}, each copy of a gradient {:.1f}: an executor that works on m micro-batches of a "
      "step holds at most 1 + ceil(log2 m) of them\n"
      "workspace of an executor (activations, their gradients, scratch), also with --recompute-activations:\n"
      "{:>11}  {:>9}  {:>9}  {:>9}\n",
      arena, arena, "micro-batch", "train", "recompute", "evaluate");
  for (const Workspace& one : network.workspaces) {
    text += fmt::format("{:>11}  {:>9.1f}  {:>9.1f}  {:>9.1f}\n", one.samples, megabytes(one.training_bytes),
                        megabytes(one.recomputing_bytes), megabytes(one.evaluation_bytes));
  }
  return text;
}

}  // namespace

std::string text_of(Shape shape) {
  return shape.height == 1 && shape.width == 1 ? std::to_string(shape.channels) : value_text(shape);
}

std::size_t trained_parameters(const Network& network, const Network::Layer& layer) {
  std::size_t count = 0;
  for (const int id : layer.parameters) {
    const Parameter& parameter = network.parameters()[static_cast<std::size_t>(id)];
    count += parameter.trained() ? parameter.size() : 0;
  }
  return count;
}

NetworkSummary summarize(const Network& network, int micro_batch) {
  const Graph graph = build_graph(network);
  NetworkSummary summary{.operations = graph.nodes.size(),
                         .parameter_bytes = layout_arena(network.parameters()).elements * sizeof(float)};
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Network::Layer& layer = network.layers()[i];
    summary.layers.push_back({.name = layer.name,
                              .operation = describe(layer.operation),
                              .output = layer.shape,
                              .parameters = trained_parameters(network, layer),
                              .flop = 2 * multiply_adds(network, layer),
                              .fused_into = fused_into(graph, i)});
    summary.parameters += summary.layers.back().parameters;
    summary.flop += summary.layers.back().flop;
  }
  for (const int samples : {std::max(1, micro_batch / 2), micro_batch, 2 * micro_batch}) {
    summary.workspaces.push_back({samples, workspace(network, {.samples = samples}),
                                  workspace(network, {.samples = samples, .recompute = true}),
                                  workspace(network, {.samples = samples, .training = false})});
  }
  return summary;
}

std::string text_of(const NetworkSummary& network) {
  return layer_table(network) + "\n" + memory_table(network);
}

JsonValue json_of(Shape shape) { return JsonValue::array({shape.channels, shape.height, shape.width}); }

}  // namespace lockstep
