#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// A network prepared for compilation: pixels that nothing reads are gone, element-wise layers and pooling
/// are fused into the convolution, linear layer or batch norm before them. No device code.
struct GraphNode {
  /// Changes of the operation's result before it is stored, in this order.
  struct Epilogue {
    bool add = false;  ///< batch norm: the last input is added
    bool relu = false;
    bool relu6 = false;  ///< batch norm
    /// 0: none; k: average of k x k windows with stride k, rounded down
    int pool = 0;
  };

  Operation operation;
  std::string name;
  Epilogue epilogue;
  std::vector<int> inputs;      ///< ids of nodes
  std::vector<int> parameters;  ///< indices into the network's parameters
  Shape shape;                  ///< shape of the stored result, per image
};

struct Graph {
  std::vector<GraphNode> nodes;  ///< in the order of execution; node 0 is the input
  int output = -1;               ///< the logits
  /// Node that computes each layer of the network, perhaps fused with others; -1: no layer reads it.
  std::vector<int> node_of_layer;

  /// Nodes that have `node` as an input, ascending.
  std::vector<int> readers_of(int node) const;
};

/// Shape inference is the network's; this crops and fuses.
///
/// Cropping: pooling and strided convolution round down, so trailing rows and columns of their input may
/// never be read. Such pixels are not computed: the sizes of the values before shrink, back to the input
/// (LeNet: the second convolution's 9x9 becomes 8x8, so its input 12x12, so the first's 24x24, so the image
/// 26x26). Gradients are unchanged: those pixels' gradients are zeros. What batch norm measures is never
/// cropped.
///
/// Fusion: convolution + ReLU + average pooling (without dilation and groups), linear + ReLU, batch norm +
/// addition + ReLU or ReLU6.
Graph build_graph(const Network& network);

/// Places of parameters in an arena: element offsets, each a multiple of 16, the gaps zero.
struct ArenaLayout {
  std::vector<std::size_t> offsets;
  std::size_t elements = 0;

  /// End of a parameter, with the gap after it.
  std::size_t end_of(std::size_t parameter) const {
    return parameter + 1 < offsets.size() ? offsets[parameter + 1] : elements;
  }
};
ArenaLayout layout_arena(const std::vector<Parameter>& parameters);

/// Writes initial values of the parameters to an arena of `layout`. They follow from Initializer, seed and
/// position in the network.
void initialize_parameters(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                           std::uint64_t seed, float* arena);

}  // namespace lockstep
