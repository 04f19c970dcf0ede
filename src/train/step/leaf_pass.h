#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "gradient/assignment.h"
#include "train/session/session.h"
#include "train/step/leaf_runner.h"

namespace lockstep {

/// Makes runners for the micro-batches of `loader`. `leaves`: maximum number of micro-batches of a pass, over
/// all ranks. `log`: log of the steps. Collective. Throws Error(resource) on all ranks.
LeafRunners make_runners(const Session& session, CompiledGraph& graph, const Loader& loader,
                         std::uint32_t leaves, StepLog log = {});

/// Pass over all leaves of a step, or of a data set, by the streams of all ranks: the assignment of the
/// leaves, and their results on every rank.
class LeafPass {
 public:
  /// `runners` must outlive the pass, and may serve several passes, one after the other. Collective. Throws
  /// Error(resource) on all ranks.
  LeafPass(const Session& session, const LeafRunners& runners, Assignment assignment);

  const Assignment& assignment() const { return assignment_; }

  /// Function that records the work on one leaf.
  using RecordLeaf =
      std::function<void(Stream& stream, LeafRunner& runner, std::size_t executor, std::uint32_t leaf)>;
  /// Part `number` of `count` nearly equal parts of each stream's work, whose unit is one stage of one leaf.
  struct Part {
    std::uint64_t number = 0;
    std::uint64_t count = 1;
    bool is_last() const { return number + 1 == count; }
  };
  /// Records `part` of this rank's work: on each stream, leaves in order, and all `stages` of each leaf. The
  /// first stream then waits for the others. The first part also prepares the runners.
  void record(const float* parameters, std::span<const RecordLeaf> stages, Part part) const;

  /// Result of a leaf, in device memory like all results.
  LeafResult* result(std::uint32_t leaf) const { return results_.as<LeafResult>() + leaf; }
  std::span<const LeafResult> results() const { return {results_.as<LeafResult>(), assignment_.leaves}; }
  /// Records gathering the results of all leaves on all ranks.
  void gather_results(Stream& stream) { gather_(stream); }

 private:
  Device& device_;
  const LeafRunners& runners_;
  Assignment assignment_;
  Buffer results_;
  Gather gather_;
};

}  // namespace lockstep
