#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// One operation of a graph, with the element-wise layers and pooling that were fused into it.
struct GraphNode {
  /// Steps applied to the operation's result before it is stored, in this order.
  struct Epilogue {
    bool add = false;  ///< whether the last input is added (batch norm only)
    bool relu = false;
    bool relu6 = false;  ///< batch norm only
    int pool = 0;        ///< average of pool x pool windows with stride `pool`, rounded down; 0: none
  };

  Operation operation;
  std::string name;
  Epilogue epilogue;
  std::vector<int> inputs;      ///< ids of nodes
  std::vector<int> parameters;  ///< indices into the network's parameters
  Shape shape;                  ///< shape of one image's result, as stored
  /// Whether the gradient of the bias is exactly zero: only a batch norm reads the result, and it subtracts
  /// the mean, including the bias. A computed gradient would consist of rounding errors.
  bool zero_bias_gradient = false;
};

/// A network prepared for compilation, without device code: pixels and layers that nothing reads are removed.
struct Graph {
  std::vector<GraphNode> nodes;  ///< in the order of execution; node 0 is the input
  int output = -1;               ///< node of the logits
  /// Node that computes each layer of the network; -1: nothing reads the layer.
  std::vector<int> node_of_layer;

  /// Nodes that read `node`, ascending.
  std::vector<int> readers_of(int node) const;
};

/// Builds the graph of a network: crops and fuses its layers.
///
/// Cropping: pooling and strided convolutions round down, so trailing rows and columns of their input may
/// never be read. These pixels are not computed, and the outputs of all earlier layers shrink accordingly,
/// back to the image (LeNet: the second convolution's output shrinks from 9x9 to 8x8, its input to 12x12, the
/// first convolution's output to 24x24, the image to 26x26). Gradients do not change: cropped pixels have
/// zero gradients. Inputs of batch norm are never cropped.
///
/// Fusion: convolution + ReLU + average pooling (only without dilation and groups, and with windows of up to
/// pixels_in_one_sum pixels); linear + ReLU; batch norm + addition + ReLU or ReLU6.
Graph build_graph(const Network& network);

/// Offsets of parameters in an arena, in elements. Offsets are multiples of 16; gaps hold zeros.
struct ArenaLayout {
  std::vector<std::size_t> offsets;
  std::size_t elements = 0;

  /// End of a parameter and of the gap after it.
  std::size_t end_of(std::size_t parameter) const {
    return parameter + 1 < offsets.size() ? offsets[parameter + 1] : elements;
  }
};
ArenaLayout layout_arena(const std::vector<Parameter>& parameters);

/// Writes the initial values of all parameters to an arena with this `layout`. Values depend on the
/// initializer, the seed and the parameter's position in the network, not on the number of threads.
/// `on_threads(work)` must call `work` on one or more threads, which divide the values among themselves, and
/// return when all calls have returned; by default, it calls `work` on this thread.
void initialize_parameters(
    const std::vector<Parameter>& parameters, const ArenaLayout& layout, std::uint64_t seed, float* arena,
    const std::function<void(const std::function<void()>& work)>& on_threads = [](auto& work) { work(); });

}  // namespace lockstep
