#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "optim/arena_update.h"
#include "reduce/gradient_sums.h"

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
/// computes is the same on any number of ranks, bit by bit. What it records is on the device's first stream.
class Updater {
 public:
  /// Throws Error(usage) for impossible options, Error(resource) when memory is short. Collective.
  Updater(Backend& backend, Communicator& communicator, const UpdaterOptions& options);

  /// What each rank updates, for the gradient sums of the run.
  const Slices& slices() const { return slices_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  /// Updates what this rank owns by the sum of `gradients`, which are ready, as the step's outcome says; then
  /// brings the new parameters to all ranks. Leaves everything as it was when the gradient's norm is wanted
  /// and not finite. Collective, as what it records.
  void record(Stream& stream, GradientSums& gradients);

  /// A step changes this rank's slice of the averaged weights only; this brings the others'. Collective, as
  /// what it records.
  void record_averages(Stream& stream);

 private:
  /// Sums of squares of all blocks of an arena: double by double.
  struct BlockSums {
    Buffer values;
    std::unique_ptr<Gather> gather;
  };

  bool wants_norms() const { return layerwise_ || options_.optimizer.clip_grad > 0.0; }
  BlockSums plan_block_sums(Device& device) const;
  /// From `owned`, this rank's slice of an arena.
  void measure(Stream& stream, const float* owned, const BlockSums& sums);
  void scale_by_norms(Stream& stream, float* sum);

  UpdaterOptions options_;
  std::unique_ptr<Optimizer> optimizer_;
  bool layerwise_;
  std::vector<Segment> segments_;
  BlockNorms norms_;
  std::unique_ptr<Communicator> alone_;  ///< where every rank updates all elements: it shares them with none
  Communicator& owners_;                 ///< the ranks that the elements are divided between
  Slices slices_;
  std::size_t first_ = 0, last_ = 0;  ///< elements that this rank updates
  std::unique_ptr<ArenaUpdate> update_;
  std::unique_ptr<Gather> values_, averages_;
  BlockSums gradient_sums_, parameter_sums_;
};

}  // namespace lockstep
