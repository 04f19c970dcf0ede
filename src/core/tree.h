#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Order in which the gradients of micro-batches are added, on any number of ranks.
///
/// The M micro-batches of a step are the leaves 0..M-1 of a binary tree, in which a range of n > 1 leaves
/// splits at the largest power of two below n. A prefix of the leaves has the same complete subtrees, so that
/// a short last batch needs no padding.

/// A complete subtree: leaves [begin, begin + 2^level), where begin is a multiple of 2^level.
struct Node {
  std::uint32_t begin = 0;
  std::uint8_t level = 0;

  std::uint32_t end() const { return begin + (std::uint32_t{1} << level); }
  bool operator==(const Node&) const = default;
};

/// Divides `leaves` leaves into `parts` contiguous ranges: parts + 1 ascending boundaries from 0 to `leaves`.
/// Minimises the longest range, then the number of maximal complete subtrees in all ranges (13 for 64 leaves
/// in 7 parts). Ranges are empty only if parts > leaves. Throws Error(internal) for 0 parts.
std::vector<std::uint32_t> partition(std::uint32_t leaves, std::uint32_t parts);

/// Divides `leaves` leaves into ranges with lengths proportional to `weights`, boundaries rounded to the
/// nearest leaf. Weights are finite and not negative, and at least one is positive.
std::vector<std::uint32_t> partition(std::uint32_t leaves, std::span<const double> weights);

/// Divides the leaves [begin, end) as the first overload does.
std::vector<std::uint32_t> partition(std::uint32_t begin, std::uint32_t end, std::uint32_t parts);

/// Maximal complete subtrees of the leaves [begin, end), in order.
std::vector<Node> cover(std::uint32_t begin, std::uint32_t end);

/// Postfix program of additions: an entry >= 0 pushes the input with that number, `Fold::add` replaces the
/// two topmost values a (below) and b (on top) by a + b.
struct Fold {
  static constexpr std::int32_t add = -1;
  std::vector<std::int32_t> program;
  /// Maximum number of values on the stack.
  std::uint32_t depth = 0;
};

/// Program that adds `inputs`, complete subtrees that tile the leaves [0, leaves), in the order of the tree.
/// Throws Error(internal) if they do not tile that range.
Fold plan_fold(std::span<const Node> inputs, std::uint32_t leaves);

/// A complete subtree, and the program that computes it from its parts.
struct Merge {
  Node node;
  Fold fold;
};
/// Merges of siblings into the maximal complete subtrees of the range that `inputs` cover, which may begin at
/// any leaf.
std::vector<Merge> plan_merge(std::span<const Node> inputs);

}  // namespace lockstep
