#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gradient/gradient_sums.h"
#include "graph/graph.h"
#include "train/session/session.h"
#include "train/step/leaf_runner.h"

namespace lockstep {

/// Gradient arenas of each executor, as many as the largest kind of step needs. All kinds of steps of a run
/// share them, as two steps never run at the same time.
using GradientArenas = std::vector<std::vector<Buffer>>;

/// Gradients of one kind of step. The gradient of each leaf is folded into the gradients of its siblings as
/// soon as it is complete; the remaining partial sums are added over the ranks.
class StepGradients {
 public:
  /// Grows `arenas`, which must outlive this object. `slices`: the elements that each rank updates.
  /// Collective. Throws Error(resource) for lack of memory.
  StepGradients(const Session& session, const ArenaLayout& layout, const Assignment& assignment,
                const Slices& slices, GradientArenas& arenas);

  /// Records the backward pass of a leaf and the fold of its gradient. The leaf's forward pass must have been
  /// recorded.
  void record_leaf(Stream& stream, LeafRunner& runner, std::size_t executor, std::uint32_t leaf,
                   const float* parameters);

  GradientSums& sums() { return *sums_; }

 private:
  void grow(const Session& session);
  std::vector<GradientPart> parts_of_leaf(const LeafRunner& runner, std::uint32_t leaf) const;

  /// Declares that the elements from `begin` on are complete after all work recorded so far.
  void ready(std::size_t begin);

  Device& device_;
  Summation& summation_;
  bool whole_sums_;
  std::size_t elements_;
  std::vector<std::size_t> buckets_;  ///< buckets of whole sums; see gradient/bucketed_exchange.h
  Assignment assignment_;
  GradientArenas& arenas_;
  std::vector<PartialSumPlan> plans_;  ///< one per executor
  std::unique_ptr<GradientSums> sums_;
};

}  // namespace lockstep
