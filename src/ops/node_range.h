#pragma once

#include <cstddef>

namespace lockstep {

/// Nodes [begin, end) of a graph; the input is node 0, and the node after the last stands for the loss.
struct NodeRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const NodeRange&) const = default;
};

/// A part of backward, which goes from the last node to the first: what is left to do when it is done makes
/// no gradients of elements from `final_from` on.
struct GradientPart {
  NodeRange nodes;
  std::size_t final_from = 0;
};

}  // namespace lockstep
