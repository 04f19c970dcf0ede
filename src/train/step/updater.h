#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "gradient/gradient_sums.h"
#include "optim/arena_update.h"

namespace lockstep {

class Backend;

/// Elements that each of `owners` ranks updates: slices of nearly equal length. If `rule` needs norms, each
/// block of BlockNorms has one owner.
Slices update_slices(const std::vector<Parameter>& parameters, const ArenaLayout& layout,
                     const OptimizerOptions& rule, int owners);

/// Update of a step with the sum of all gradients: norms, clipping, the optimizer's rule, running statistics,
/// averages. The updater has no state, and computes the same bits on any number of ranks. Its work runs on
/// the device's first stream.
class Updater {
 public:
  /// `owners`: the ranks among which the elements of the arenas are divided. Parameters, layout and arenas
  /// must outlive the updater. Collective. Throws Error(usage) for impossible options, Error(resource) for
  /// lack of memory.
  Updater(Backend& backend, Communicator& owners, const std::vector<Parameter>& parameters,
          const ArenaLayout& layout, const OptimizerOptions& rule, UpdatedArenas arenas, StepLog log);

  /// Elements that each rank updates, for the gradient sums of the run.
  const Slices& slices() const { return arenas_.slices; }
  const float* parameters() const { return arenas_.values.data(); }

  /// Records the update of this rank's elements with the sum of `gradients`, which must be ready, then the
  /// gather of the new parameters. The update changes nothing if the step's outcome forbids it, or if the
  /// norm of the gradient is needed and not finite. Collective, and so is the recorded work.
  void record(Stream& stream, GradientSums& gradients);

  /// Records the gather of the averages, of which a step changes only this rank's slice. Collective, and so
  /// is the recorded work.
  void record_averages(Stream& stream);

 private:
  /// Sums of squares of all blocks of an arena, one double per block, and their gather.
  struct BlockSums {
    Buffer values;
    Gather gather;
  };

  BlockSums plan_block_sums(Device& device) const;
  /// Records computing the sums of squares of `owned`, this rank's slice of an arena, and their gather.
  void measure(Stream& stream, const float* owned, const BlockSums& sums);
  void scale_by_norms(Stream& stream, float* sum);

  OptimizerOptions rule_;
  UpdatedArenas arenas_;
  Optimizer optimizer_;
  std::vector<Segment> segments_;
  BlockNorms norms_;
  Communicator& owners_;
  std::size_t first_ = 0, last_ = 0;  ///< elements that this rank updates
  std::unique_ptr<ArenaUpdate> update_;
  Gather values_, averages_;
  BlockSums gradient_sums_, parameter_sums_;
};

}  // namespace lockstep
