#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// The one order in which micro-batch gradients are added.
///
/// The M micro-batches of a step are the leaves 0..M-1 of a binary tree: a range of n > 1 leaves splits
/// at the largest power of two below n. A prefix of the leaves therefore has the same complete subtrees,
/// so a short last batch (missing leaves) needs no padding.

/// A complete subtree: leaves [begin, begin + 2^level), begin a multiple of 2^level.
struct Node {
  std::uint32_t begin = 0;
  std::uint8_t level = 0;

  std::uint32_t end() const { return begin + (std::uint32_t{1} << level); }
  bool operator==(const Node&) const = default;
};

/// Contiguous ranges of `leaves` leaves for `parts` workers: parts + 1 ascending boundaries, first 0, last
/// `leaves`. Minimises the longest range first, then the number of maximal complete subtrees that the
/// ranges consist of (7 parts, 64 leaves: 13). Ranges are empty only when parts > leaves.
std::vector<std::uint32_t> partition(std::uint32_t leaves, std::uint32_t parts);

/// Ranges whose lengths are as the weights, each boundary rounded to the nearest leaf: for workers of
/// different speeds. Weights are finite and not negative, and one is positive.
std::vector<std::uint32_t> partition(std::uint32_t leaves, std::span<const double> weights);

/// As the first, for the leaves [begin, end): first boundary `begin`, last `end`.
std::vector<std::uint32_t> partition(std::uint32_t begin, std::uint32_t end, std::uint32_t parts);

/// The maximal complete subtrees that make up the leaves [begin, end), in order.
std::vector<Node> cover(std::uint32_t begin, std::uint32_t end);

/// A postfix program of additions: entry >= 0 pushes input number `entry`, `Fold::add` replaces the two
/// topmost values a (below) and b (on top) by a + b.
struct Fold {
  static constexpr std::int32_t add = -1;
  std::vector<std::int32_t> program;
  /// Largest number of values on the stack at once.
  std::uint32_t depth = 0;
};

/// The program that sums `inputs` (complete subtrees in order, together exactly the leaves [0, leaves))
/// in the order of the tree. Throws Error(internal) when they do not tile that range.
Fold plan_fold(std::span<const Node> inputs, std::uint32_t leaves);

/// Merges true siblings only: the maximal complete subtrees of the range that `inputs` covers (they need
/// not start at leaf 0), each with the program that makes it from `inputs`.
struct Merge {
  Node node;
  Fold fold;
};
std::vector<Merge> plan_merge(std::span<const Node> inputs);

}  // namespace lockstep
