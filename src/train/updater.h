#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "optim/arena_update.h"
#include "reduce/reducer.h"

namespace lockstep {

class Backend;

/// What an updater is made of; parameters, layout and arenas outlive it.
struct UpdaterOptions {
  const std::vector<Parameter>& parameters;
  const ArenaLayout& layout;
  OptimizerOptions optimizer;
  bool sharded = true;             ///< each element is updated by one rank; else all are by every rank
  std::span<float> values;         ///< the parameters' arena
  std::span<float> averages = {};  ///< arena of the averaged weights; empty: there are none
  double average_decay = 0.0;      ///< averages += (1 - average_decay) * (values - averages)
  StepLog log;                     ///< which step this is, and what it found
};

/// What a step does with the sum of all gradients: norms, clipping, the optimizer's rule, running statistics,
/// averaged weights. Owns the optimizer's states, of the elements that this rank updates. Everything that it
/// computes is the same on any number of ranks, bit by bit.
class Updater {
 public:
  /// Throws Error(usage) for impossible options, Error(resource) when memory is short. Not collective.
  Updater(Backend& backend, Communicator& communicator, const UpdaterOptions& options);

  /// What each rank updates, for the reducers of the run.
  const Slices& slices() const { return slices_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  /// A step changes this rank's slice of the averaged weights only; this brings the others'. Inside of
  /// enqueued work. Collective.
  void gather_averages();

  /// Reduces, and updates what this rank owns, as the step's outcome says. Leaves everything as it was when
  /// the gradient's norm is wanted and not finite. Inside of enqueued work. Collective.
  void run(Reducer& reducer);

  /// Spent by the last step, but for waiting and exchange. CPU only.
  double seconds() const { return seconds_; }

 private:
  bool wants_norms() const { return layerwise_ || options_.optimizer.clip_grad > 0.0; }
  /// Whether other ranks have sums of blocks that this one needs.
  bool gathers_norms() const { return options_.sharded && communicator_.size() > 1; }
  void allocate_norms(Device& device);
  /// Sums of squares of all blocks, from this rank's slice of an arena.
  void measure(const float* owned, const Buffer& sums);

  Communicator& communicator_;
  UpdaterOptions options_;
  std::unique_ptr<Optimizer> optimizer_;
  bool layerwise_;
  std::vector<Segment> segments_;
  BlockNorms norms_;
  Slices slices_;
  std::size_t first_ = 0, last_ = 0;  ///< elements that this rank updates
  std::unique_ptr<ArenaUpdate> update_;
  PartialSums averages_exchange_;

  Buffer own_sums_, gradient_sums_, parameter_sums_;  ///< of blocks; doubles
  std::vector<std::size_t> sum_bytes_;                ///< of every rank

  double seconds_ = 0.0;
  Reducer::Apply apply_;
};

}  // namespace lockstep
