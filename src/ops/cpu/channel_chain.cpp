#include "ops/cpu/channel_chain.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "graph/operations.h"
#include "ops/cpu/convolution/conv2d.h"

namespace lockstep::cpu {
namespace {

/// Maximum bytes of the values and gradients of a piece.
constexpr std::size_t piece_limit = std::size_t{512} << 10;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

bool is_by_channel(const Graph& graph, const GraphNode& node) {
  return node.inputs.size() == 1 && by_channel(node.operation, graph.nodes[at(node.inputs[0])].shape);
}

/// A value between two operations of a chain, and its gradient.
struct Intermediate {
  bool kept = false;         ///< whether saved memory holds all channels; else scratch memory holds one piece
  bool recomputed = false;   ///< whether backward recomputes the value, piece by piece
  std::size_t offset = 0;    ///< in saved or scratch memory
  std::size_t gradient = 0;  ///< offset of a piece in scratch memory
};

/// The operation of a node, planned for one piece of the channels. Sizes are those of one piece; offsets are
/// those of the first piece.
struct Link {
  Op op;
  std::size_t input_bytes = 0;
  std::size_t output_bytes = 0;
  std::size_t first_parameter = 0;  ///< position in the chain's list of parameters
  std::vector<std::size_t> parameter_sizes = {};
  std::size_t saved = 0;  ///< offset in the chain's saved memory
  std::size_t saved_bytes = 0;
  Intermediate result = {};  ///< unused by the last link
};

const std::byte* moved(const void* memory, std::size_t bytes) {
  return static_cast<const std::byte*>(memory) + bytes;
}
std::byte* moved(void* memory, std::size_t bytes) { return static_cast<std::byte*>(memory) + bytes; }

/// Runs all links on one piece of the channels, then on the next; pieces have equal size.
class Chain {
 public:
  std::vector<Link> links;
  std::size_t pieces = 0;

  void forward(const AnyMemory& memory) const {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t i = 0; i < links.size(); ++i) links[i].op.forward(view(memory, piece, i));
    }
  }

  void backward(const AnyMemory& memory) const {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t i = 0; i + 1 < links.size(); ++i) {
        if (links[i].result.recomputed) links[i].op.recompute(view(memory, piece, i));
      }
      for (std::size_t i = links.size(); i-- > 0;) backward(memory, piece, i);
    }
  }

  /// Recomputes the output from the last intermediate value that is kept.
  void recompute(const AnyMemory& memory) const {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      for (std::size_t i = first_recomputed(); i < links.size(); ++i) {
        links[i].op.recompute(view(memory, piece, i));
      }
    }
  }
  bool recomputable() const {
    return std::all_of(links.begin() + static_cast<std::ptrdiff_t>(first_recomputed()), links.end(),
                       [](const Link& link) { return link.op.recompute != nullptr; });
  }

 private:
  std::size_t first_recomputed() const {
    std::size_t first = links.size() - 1;
    while (first > 0 && !links[first - 1].result.kept) --first;
    return first;
  }

  /// A link's view of memory, without gradients.
  AnyMemory view(const AnyMemory& memory, std::size_t piece, std::size_t i) const {
    const Link& link = links[i];
    AnyMemory view;
    view.samples = memory.samples;
    view.inputs[0] =
        i == 0 ? moved(memory.inputs[0], piece * link.input_bytes) : output(memory, piece, i - 1);
    view.output = output(memory, piece, i);
    for (std::size_t k = 0; k < link.parameter_sizes.size(); ++k) {
      view.parameters[k] = memory.parameters[link.first_parameter + k] + piece * link.parameter_sizes[k];
    }
    view.saved = memory.saved + link.saved + piece * link.saved_bytes;
    view.scratch = memory.scratch;
    return view;
  }

  std::byte* output(const AnyMemory& memory, std::size_t piece, std::size_t i) const {
    const Link& link = links[i];
    if (i + 1 == links.size()) return moved(memory.output, piece * link.output_bytes);
    const Intermediate& result = link.result;
    return result.kept ? memory.saved + result.offset + piece * link.output_bytes
                       : memory.scratch + result.offset;
  }

  void backward(const AnyMemory& memory, std::size_t piece, std::size_t i) const {
    const Link& link = links[i];
    AnyMemory own = view(memory, piece, i);
    own.grad_output = i + 1 == links.size() ? moved(memory.grad_output, piece * link.output_bytes)
                                            : memory.scratch + link.result.gradient;
    if (i > 0) {
      own.grad_inputs[0] = memory.scratch + links[i - 1].result.gradient;
    } else if (memory.grad_inputs[0] != nullptr) {
      own.grad_inputs[0] = moved(memory.grad_inputs[0], piece * link.input_bytes);
    }
    for (std::size_t k = 0; k < link.parameter_sizes.size(); ++k) {
      own.grad_parameters[k] =
          memory.grad_parameters[link.first_parameter + k] + piece * link.parameter_sizes[k];
    }
    link.op.backward(own);
  }
};

/// Returns the node reduced to `channels` channels.
GraphNode with_channels(GraphNode node, int channels) {
  node.shape.channels = channels;
  if (auto* const conv = std::get_if<Conv2d>(&node.operation)) conv->channels = conv->groups = channels;
  return node;
}

Op plan_depthwise(const OpRequest& request) {
  Op op = plan_depthwise_conv2d(request);
  return request.node.zero_bias_gradient ? with_zero_bias_gradient(request, std::move(op)) : op;
}

/// Plans the links for `pieces` pieces of `channels` channels each.
std::vector<Link> plan_links(const Graph& graph, NodeRange nodes, const OpRequest& request, bool backward,
                             int channels, std::size_t pieces) {
  constexpr auto never = static_cast<std::size_t>(-1);
  const auto bytes_of = [&](const Shape& shape) {
    return stored_bytes(shape, request.samples, element_bytes(request.dtype));
  };
  std::vector<Link> links;
  std::size_t parameters = 0;
  for (std::size_t i = nodes.begin; i < nodes.end; ++i) {
    const GraphNode node = with_channels(graph.nodes[i], channels);
    Shape input = graph.nodes[at(node.inputs[0])].shape;
    input.channels = channels;
    const bool first = i == nodes.begin, last = i + 1 == nodes.end;
    const OpRequest own{.node = node,
                        .inputs = {input},
                        .samples = request.samples,
                        .training = request.training,
                        .input_gradient = first ? request.input_gradient : backward,
                        .level = request.level,
                        .position = static_cast<int>(i),
                        .dtype = request.dtype,
                        .stream_above = {last ? request.stream_above.output / pieces : never,
                                         first ? request.stream_above.grad_inputs / pieces : never}};
    const bool convolves = std::holds_alternative<Conv2d>(node.operation);
    Link link{.op = convolves ? plan_depthwise(own) : plan_op(own),
              .input_bytes = bytes_of(input),
              .output_bytes = bytes_of(node.shape),
              .first_parameter = parameters};
    for (std::size_t k = 0; k < node.parameters.size(); ++k) {
      const int kernel = convolves && k == 0 ? std::get<Conv2d>(node.operation).kernel : 1;
      link.parameter_sizes.push_back(at(channels) * at(kernel) * at(kernel));
    }
    parameters += node.parameters.size();
    links.push_back(std::move(link));
  }
  return links;
}

/// Decides which intermediate values backward needs, and whether to keep or recompute each of them. Returns
/// whether backward reads the chain's input.
bool choose_kept(std::vector<Link>& links) {
  bool needed = false;
  for (std::size_t i = links.size() - 1; i-- > 0;) {
    const Op& op = links[i].op;
    needed = needed || op.backward_reads_output || links[i + 1].op.backward_reads_inputs > 0;
    Intermediate& result = links[i].result;
    result.recomputed = needed && op.recompute != nullptr;
    result.kept = needed && !result.recomputed;
    needed = result.recomputed;
  }
  return needed || links[0].op.backward_reads_inputs > 0;
}

}  // namespace

std::vector<NodeRange> find_chains(const Graph& graph, const GradientFlow& flow, int samples) {
  std::vector<NodeRange> chains;
  if (samples > lanes) return chains;
  std::size_t parameters = 0;
  for (std::size_t i = 1; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (!is_by_channel(graph, node)) continue;
    const auto before = static_cast<int>(i) - 1;
    const bool continues = !chains.empty() && chains.back().end == i && node.inputs[0] == before &&
                           graph.output != before && graph.readers_of(before).size() == 1 &&
                           flow.needed[i - 1] == flow.needed[i] &&
                           parameters + node.parameters.size() <= max_parameters;
    if (continues) {
      chains.back().end = i + 1;
      parameters += node.parameters.size();
    } else {
      chains.push_back({i, i + 1});
      parameters = node.parameters.size();
    }
  }
  std::erase_if(chains, [](const NodeRange& chain) { return chain.end - chain.begin < 2; });
  return chains;
}

Graph with_chains(Graph graph, const std::vector<NodeRange>& chains) {
  for (const NodeRange& chain : chains) {
    GraphNode& whole = graph.nodes[chain.end - 1];
    whole.inputs = graph.nodes[chain.begin].inputs;
    std::vector<int> parameters;
    for (std::size_t i = chain.begin; i < chain.end; ++i) {
      std::ranges::copy(graph.nodes[i].parameters, std::back_inserter(parameters));
    }
    for (std::size_t i = chain.begin; i + 1 < chain.end; ++i) {
      graph.nodes[i].inputs.clear();
      graph.nodes[i].parameters.clear();
      graph.nodes[i].shape.channels = 0;
    }
    whole.parameters = std::move(parameters);
  }
  return graph;
}

int channels_of_piece(const Graph& graph, NodeRange nodes, DataType dtype) {
  const int channels = graph.nodes[nodes.begin].shape.channels;
  std::size_t pixels = 0;
  for (std::size_t i = nodes.begin; i < nodes.end; ++i) pixels += graph.nodes[i].shape.size() / at(channels);
  const std::size_t channel_bytes = 2 * pixels * lanes * element_bytes(dtype);  // values and gradients
  int most = std::clamp(static_cast<int>(piece_limit / channel_bytes), 1, channels);
  while (channels % most != 0) --most;
  return most;
}

Op plan_chain(const Graph& graph, NodeRange nodes, const OpRequest& request, bool backward) {
  const int channels = channels_of_piece(graph, nodes, request.dtype);
  auto chain = std::make_shared<Chain>();
  chain->pieces = at(request.node.shape.channels / channels);
  chain->links = plan_links(graph, nodes, request, backward, channels, chain->pieces);
  std::vector<Link>& links = chain->links;
  Op op;
  if (backward) op.backward_reads_inputs = choose_kept(links) ? 1 : 0;
  op.backward_reads_output = links.back().op.backward_reads_output;
  op.takes_bf16 = request.dtype == DataType::bf16;
  lockstep::ScratchLayout<std::byte, 64> saved, scratch;
  std::size_t most_scratch = 0;
  for (const Link& link : links) most_scratch = std::max(most_scratch, link.op.scratch_bytes);
  scratch.add(most_scratch);
  for (Link& link : links) {
    link.saved_bytes = (link.op.saved_bytes + 63) / 64 * 64;
    link.saved = saved.add(link.saved_bytes * chain->pieces);
    if (&link == &links.back()) continue;
    Intermediate& result = link.result;
    result.offset =
        result.kept ? saved.add(link.output_bytes * chain->pieces) : scratch.add(link.output_bytes);
    if (backward) result.gradient = scratch.add(link.output_bytes);
  }
  op.saved_bytes = saved.bytes();
  op.scratch_bytes = scratch.bytes();
  op.forward = [chain](const AnyMemory& memory) { chain->forward(memory); };
  op.backward = [chain](const AnyMemory& memory) { chain->backward(memory); };
  if (chain->recomputable()) op.recompute = [chain](const AnyMemory& memory) { chain->recompute(memory); };
  return op;
}

}  // namespace lockstep::cpu
