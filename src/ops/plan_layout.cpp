#include "ops/plan_layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Relies on the order of nodes: inputs precede their readers.
std::vector<bool> find_needed(const Graph& graph, const PlanOptions& options) {
  std::vector<bool> needed(graph.nodes.size(), false);
  if (!options.training) return needed;
  const auto is_trained = [&](int parameter) {
    return options.frozen.empty() || !options.frozen[at(parameter)];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    needed[i] = std::ranges::any_of(node.inputs, [&](int id) { return needed[at(id)]; }) ||
                std::ranges::any_of(node.parameters, is_trained);
  }
  return needed;
}

/// Whether backward of `reader` reads the result of `id`.
bool reads_in_backward(const Graph& graph, const GradientFlow& flow, const std::vector<NodeBytes>& nodes,
                       int reader, int id) {
  const std::vector<int>& inputs = graph.nodes[at(reader)].inputs;
  const auto first = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
  return flow.needed[at(reader)] && first < nodes[at(reader)].backward_reads_inputs;
}

/// By node: whether the node's result can be recomputed from results that backward needs anyway.
std::vector<bool> find_recomputable(const Graph& graph, const GradientFlow& flow,
                                    const std::vector<NodeBytes>& nodes) {
  std::vector<bool> present(nodes.size(), false), recomputable(nodes.size(), false);
  for (int id = 0; id < static_cast<int>(nodes.size()); ++id) {
    recomputable[at(id)] =
        id > 0 && nodes[at(id)].recomputable && id != graph.output &&
        std::ranges::all_of(graph.nodes[at(id)].inputs, [&](int input) { return present[at(input)]; });
    present[at(id)] = recomputable[at(id)] || std::ranges::any_of(graph.readers_of(id), [&](int reader) {
                        return reads_in_backward(graph, flow, nodes, reader, id);
                      });
  }
  return recomputable;
}

/// By node: the number of the node before whose backward the result is recomputed; 0 if the result is kept,
/// or not read in backward. If recomputed nodes read each other, all of them are recomputed together, before
/// the first backward that reads the last one's result.
std::vector<int> find_recomputed(const Graph& graph, const GradientFlow& flow,
                                 const std::vector<NodeBytes>& nodes) {
  std::vector<int> before(nodes.size(), 0);
  const std::vector<bool> recomputable = find_recomputable(graph, flow, nodes);
  for (int id = static_cast<int>(nodes.size()) - 1; id > 0; --id) {
    if (!recomputable[at(id)]) continue;
    int first = flow.needed[at(id)] && nodes[at(id)].backward_reads_output ? id : 0;
    for (const int reader : graph.readers_of(id)) {
      if (reads_in_backward(graph, flow, nodes, reader, id)) first = std::max(first, reader);
      first = std::max(first, before[at(reader)]);
    }
    before[at(id)] = first;
  }
  return before;
}

/// Steps of a pass through n nodes: forward of node i is step i, the loss is step n, and backward of node i
/// is step 2n - i.
class Timeline {
 public:
  Timeline(const Graph& graph, const GradientFlow& flow, const std::vector<NodeBytes>& nodes,
           std::vector<int> recomputed_before)
      : graph_(graph),
        flow_(flow),
        nodes_(nodes),
        recomputed_before_(std::move(recomputed_before)),
        size_(static_cast<int>(graph.nodes.size())) {}

  int loss() const { return size_; }
  int backward(int id) const { return 2 * size_ - id; }
  int end() const { return 2 * size_; }
  /// Number of the node before whose backward the result of `id` is recomputed; 0 if it is not recomputed.
  int recomputed_before(int id) const { return recomputed_before_[at(id)]; }

  int last_read_in_forward(int id) const {
    int last = id == graph_.output ? loss() : id;
    for (const int reader : graph_.readers_of(id)) last = std::max(last, reader);
    return last;
  }
  /// Last backward step that reads the result of `id`, directly or to recompute a node that reads it; 0 if
  /// there is none.
  int last_read_in_backward(int id) const {
    int last = flow_.needed[at(id)] && nodes_[at(id)].backward_reads_output ? backward(id) : 0;
    for (const int reader : graph_.readers_of(id)) {
      if (reads_in_backward(graph_, flow_, nodes_, reader, id)) last = std::max(last, backward(reader));
      if (recomputed_before(reader) > 0) last = std::max(last, backward(recomputed_before(reader)));
    }
    return last;
  }

  int first_write_of_gradient(int id) const {
    int first = id == graph_.output ? loss() : backward(id);
    for (const int reader : graph_.readers_of(id)) {
      first = std::min(first, backward(reader));
    }
    return first;
  }

  int last_read_of_saved(int id) const {
    if (flow_.needed[at(id)]) return backward(id);
    return recomputed_before(id) > 0 ? backward(recomputed_before(id)) : id;
  }

 private:
  const Graph& graph_;
  const GradientFlow& flow_;
  const std::vector<NodeBytes>& nodes_;
  std::vector<int> recomputed_before_;
  int size_;
};

bool same_time(const MemoryBlock& a, const MemoryBlock& b) { return a.first <= b.last && b.first <= a.last; }

/// Blocks of memory, and the variables that receive the blocks' offsets.
class Blocks {
 public:
  /// `apart`: whether to treat all blocks as in use from step 0 to step `end`, so that none share memory.
  Blocks(bool apart, int end) : apart_(apart), end_(end) {}

  void add(std::size_t bytes, int first, int last, std::size_t* offset) {
    blocks_.push_back({bytes, apart_ ? 0 : first, apart_ ? end_ : last});
    offsets_.push_back(offset);
  }
  void add_if_any(std::size_t bytes, int first, int last, std::size_t* offset) {
    if (bytes > 0) add(bytes, first, last, offset);
  }
  /// Returns the total bytes.
  std::size_t place(std::size_t alignment) {
    const std::size_t bytes = place_blocks(blocks_, alignment);
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      *offsets_[i] = blocks_[i].offset;
    }
    return bytes;
  }

 private:
  bool apart_;
  int end_;
  std::vector<MemoryBlock> blocks_;
  std::vector<std::size_t*> offsets_;
};

void add_nodes(const Timeline& time, const GradientFlow& flow, const std::vector<NodeBytes>& nodes,
               WorkspaceLayout& layout, Blocks& blocks) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto id = static_cast<int>(i);
    WorkspaceLayout::Node& places = layout.nodes[i];
    const int last_forward = time.last_read_in_forward(id), last_backward = time.last_read_in_backward(id);
    if (time.recomputed_before(id) > 0) {
      blocks.add(nodes[i].value, id, last_forward, &places.value);
      blocks.add(nodes[i].value, time.backward(time.recomputed_before(id)), last_backward,
                 &places.value_in_backward);
      layout.recomputed_before[at(time.recomputed_before(id))].push_back(id);
    } else {
      blocks.add(nodes[i].value, id, std::max(last_forward, last_backward), &places.value);
    }
    if (flow.needed[i]) {
      blocks.add(nodes[i].value, time.first_write_of_gradient(id), time.backward(id), &places.gradient);
    }
    blocks.add_if_any(nodes[i].saved, id, time.last_read_of_saved(id), &places.saved);
    blocks.add_if_any(nodes[i].prepared, 0, time.end(), &places.prepared);
  }
}

/// Adds scratch memory for each step of each node. With nodes_apart, all nodes share the loss's block.
void add_scratch(const Timeline& time, const PlanOptions& options, const GradientFlow& flow,
                 const WorkspaceBytes& bytes, WorkspaceLayout& layout, Blocks& blocks) {
  std::size_t most = bytes.loss_scratch;
  for (std::size_t i = 0; i < bytes.nodes.size(); ++i) {
    const auto id = static_cast<int>(i);
    const std::size_t scratch = bytes.nodes[i].scratch;
    most = std::max(most, scratch);
    if (options.nodes_apart) continue;
    blocks.add_if_any(scratch, id, id, &layout.nodes[i].scratch);
    if (time.recomputed_before(id) > 0) {
      const int step = time.backward(time.recomputed_before(id));
      blocks.add_if_any(scratch, step, step, &layout.nodes[i].scratch_in_recompute);
    }
    if (!flow.needed[i]) continue;
    blocks.add_if_any(scratch, time.backward(id), time.backward(id), &layout.nodes[i].scratch_in_backward);
  }
  blocks.add_if_any(options.nodes_apart ? most : bytes.loss_scratch, time.loss(), time.loss(),
                    &layout.loss_scratch);
}

void add_aside(const Timeline& time, const Graph& graph, const GradientFlow& flow,
               const std::vector<NodeBytes>& nodes, WorkspaceLayout& layout, Blocks& blocks) {
  std::array<std::size_t, max_inputs> bytes{};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (std::size_t k = 0; k < graph.nodes[i].inputs.size(); ++k) {
      const Contribution& contribution = flow.contributions[i][k];
      if (contribution.wanted && !contribution.first) {
        bytes[k] = std::max(bytes[k], nodes[at(graph.nodes[i].inputs[k])].value);
      }
    }
  }
  for (std::size_t k = 0; k < max_inputs; ++k) {
    blocks.add(bytes[k], time.loss(), time.end(), &layout.aside[k]);
  }
}

WorkspaceLayout lay_out(const Graph& graph, const PlanOptions& options, const GradientFlow& flow,
                        const WorkspaceBytes& bytes, std::vector<int> recomputed_before) {
  const Timeline time(graph, flow, bytes.nodes, std::move(recomputed_before));
  WorkspaceLayout layout;
  layout.nodes.resize(graph.nodes.size());
  layout.recomputed_before.resize(graph.nodes.size());
  Blocks blocks(options.nodes_apart, time.end());
  add_nodes(time, flow, bytes.nodes, layout, blocks);
  add_scratch(time, options, flow, bytes, layout, blocks);
  add_aside(time, graph, flow, bytes.nodes, layout, blocks);
  blocks.add(bytes.samples * sizeof(std::int32_t), time.loss(), time.end(), &layout.predictions);
  layout.bytes = blocks.place(bytes.alignment);
  for (WorkspaceLayout::Node& node : layout.nodes) {
    if (options.nodes_apart) node.scratch = node.scratch_in_backward = layout.loss_scratch;
    if (node.value_in_backward == WorkspaceLayout::none) node.value_in_backward = node.value;
  }
  return layout;
}

}  // namespace

bool GradientFlow::needed_by_any(const std::vector<int>& ids) const {
  return std::ranges::any_of(ids, [this](int id) { return needed[at(id)]; });
}

GradientFlow trace_gradients(const Graph& graph, const PlanOptions& options) {
  GradientFlow flow{find_needed(graph, options), {}};
  flow.contributions.resize(graph.nodes.size());
  std::vector<bool> seen(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 1;) {
    const auto& inputs = graph.nodes[i].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      flow.contributions[i][k] = {flow.needed[at(inputs[k])], !seen[at(inputs[k])]};
      seen[at(inputs[k])] = true;
    }
  }
  return flow;
}

std::array<Shape, max_inputs> input_shapes(const Graph& graph, const GraphNode& node) {
  std::array<Shape, max_inputs> shapes;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    shapes[k] = graph.nodes[at(node.inputs[k])].shape;
  }
  return shapes;
}

std::vector<ArenaRange> ranges_without_gradient(const Graph& graph, const ArenaLayout& layout,
                                                const GradientFlow& flow) {
  std::vector<bool> cleared(layout.offsets.size(), true);  // stays true for parameters that no node has
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    for (const int parameter : graph.nodes[i].parameters) {
      cleared[at(parameter)] = !flow.needed[i];
    }
  }
  std::vector<ArenaRange> ranges;
  for (std::size_t p = 0; p < cleared.size(); ++p) {
    if (!cleared[p]) continue;
    if (!ranges.empty() && ranges.back().end == layout.offsets[p]) {
      ranges.back().end = layout.end_of(p);
    } else {
      ranges.push_back({layout.offsets[p], layout.end_of(p)});
    }
  }
  return ranges;
}

std::size_t place_blocks(std::span<MemoryBlock> blocks, std::size_t alignment) {
  const auto rounded = [alignment](std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<MemoryBlock*> order(blocks.size());
  std::iota(order.begin(), order.end(), blocks.data());
  std::ranges::stable_sort(order, std::ranges::greater(), &MemoryBlock::bytes);
  std::size_t all_bytes = 0;
  std::vector<MemoryBlock*> placed;  // in ascending order of offsets
  for (MemoryBlock* const block : order) {
    std::size_t offset = 0;
    const std::size_t bytes = rounded(block->bytes);
    for (const MemoryBlock* const other : placed) {
      if (!same_time(*block, *other)) continue;
      if (other->offset >= offset + bytes) break;
      offset = std::max(offset, other->offset + rounded(other->bytes));
    }
    block->offset = offset;
    all_bytes = std::max(all_bytes, offset + bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &MemoryBlock::offset), block);
  }
  return all_bytes;
}

WorkspaceLayout lay_out_workspace(const Graph& graph, const PlanOptions& options, const GradientFlow& flow,
                                  const WorkspaceBytes& bytes) {
  const auto lay_out_with = [&](std::vector<int> recomputed_before) {
    return lay_out(graph, options, flow, bytes, std::move(recomputed_before));
  };
  WorkspaceLayout keeping_all = lay_out_with(std::vector<int>(graph.nodes.size(), 0));
  if (!options.recompute || options.nodes_apart) return keeping_all;
  WorkspaceLayout recomputing = lay_out_with(find_recomputed(graph, flow, bytes.nodes));
  return recomputing.bytes < keeping_all.bytes ? recomputing : keeping_all;
}

std::vector<NodeTraffic> count_traffic(const Graph& graph, const ArenaLayout& layout,
                                       const GradientFlow& flow, std::span<const NodeBytes> nodes) {
  std::vector<NodeTraffic> traffic(graph.nodes.size());
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    const NodeBytes& bytes = nodes[i];
    std::size_t inputs = 0, inputs_again = 0, input_gradients = 0, parameters = 0;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::size_t value = nodes[at(node.inputs[k])].value;
      inputs += value;
      if (k < bytes.backward_reads_inputs) inputs_again += value;
      if (flow.contributions[i][k].wanted) input_gradients += value;
    }
    for (const int id : node.parameters) {
      parameters += (layout.end_of(at(id)) - layout.offsets[at(id)]) * sizeof(float);
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
