#pragma once

#include <cstdint>
#include <vector>

#include "core/tree.h"

namespace lockstep {

/// Partial sum of this rank: the gradients of a complete subtree, added up.
struct Partial {
  Node node;
  float* data = nullptr;
};

/// Plan of one executor's gradient memory: the gradients of its leaves are folded, in order, into partial
/// sums (the cover of its range). A leaf without a waiting sibling is written in place; any other leaf is
/// written to one spare arena and added immediately. Needs at most 1 + ceil(log2 leaves) arenas for a range
/// that begins at a multiple of a power of two >= leaves; in general the largest of i + 1 + level over the
/// results i = 0, 1, ...
class PartialSumPlan {
 public:
  PartialSumPlan(std::uint32_t begin, std::uint32_t end);

  /// Number of arenas needed.
  std::uint32_t arenas() const { return arenas_; }
  struct LeafStep {
    std::uint32_t write_to;  ///< arena that the leaf's gradient is written to
    /// Then, in order: arena[into] = arena[into] + arena[from].
    struct Addition {
      std::uint32_t into, from;
    };
    std::vector<Addition> additions;
  };
  const std::vector<LeafStep>& leaves() const { return leaves_; }
  struct Result {
    Node node;
    std::uint32_t arena;
  };
  const std::vector<Result>& results() const { return results_; }

 private:
  std::uint32_t arenas_ = 0;
  std::vector<LeafStep> leaves_;
  std::vector<Result> results_;
};

}  // namespace lockstep
