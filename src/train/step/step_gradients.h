#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "reduce/gradient_sums.h"
#include "train/session/session.h"
#include "train/step/leaf_runner.h"

namespace lockstep {

/// Gradient arenas of each executor, shared by all kinds of steps of a run, which are never in progress
/// together; as many as the largest of them needs.
struct GradientArenas {
  std::vector<std::vector<Buffer>> executors;
};

/// The gradients of one kind of step: each leaf's is folded into its siblings' as soon as it is there; what
/// is left is summed over the ranks.
class StepGradients {
 public:
  /// Grows `arenas`, which outlive it. `slices`: what each rank updates. Collective. Throws Error(resource)
  /// where memory is short.
  StepGradients(const Session& session, const ArenaLayout& layout, const Assignment& assignment,
                const Slices& slices, GradientArenas& arenas);

  /// Records the backward pass of a leaf whose forward pass was recorded before, and its fold.
  void record_leaf(Stream& stream, LeafRunner& runner, std::size_t executor, std::uint32_t leaf,
                   const float* parameters);

  GradientSums& sums() { return *sums_; }

 private:
  void grow(const Session& session, GradientArenas& arenas, std::size_t elements) const;
  std::vector<GradientPart> parts_of_leaf(const LeafRunner& runner, std::uint32_t leaf) const;

  Summation& summation_;
  bool ring_;
  std::size_t elements_;
  std::vector<std::size_t> buckets_;  ///< of the ring, see plan_ring_exchange
  Assignment assignment_;
  GradientArenas& arenas_;
  std::vector<PartialSumPlan> plans_;  ///< of each executor
  std::unique_ptr<GradientSums> sums_;
};

}  // namespace lockstep
