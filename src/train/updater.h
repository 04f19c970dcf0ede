#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "lockstep/optimizer.h"
#include "optim/block_norms.h"
#include "optim/segments.h"
#include "reduce/reducer.h"

namespace lockstep {

/// What an updater is made of; parameters, layout and arenas outlive it.
struct UpdaterOptions {
  const std::vector<Parameter>& parameters;
  const ArenaLayout& layout;
  OptimizerOptions optimizer;
  bool sharded = true;             ///< each element is updated by one rank; else all are by every rank
  std::span<float> values;         ///< the parameters' arena
  std::span<float> averages = {};  ///< arena of the averaged weights; empty: there are none
  double average_decay = 0.0;      ///< averages = average_decay * averages + (1 - average_decay) * values
};

/// What a step does with the sum of all gradients: norms, clipping, the optimizer's rule, running statistics,
/// averaged weights. Owns the optimizer's states, of the elements that this rank updates. Everything that it
/// computes is the same on any number of ranks, bit by bit.
class Updater {
 public:
  /// Throws Error(usage) for impossible options, Error(resource) when memory is short. Not collective.
  Updater(Device& device, Communicator& communicator, const UpdaterOptions& options);

  /// What each rank updates, for the reducers of the run.
  const Slices& slices() const { return slices_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  /// A step changes this rank's slice of the averaged weights only; this brings the others'. Collective.
  void gather_averages();

  /// Reduces, and updates what this rank owns; step.gradient_scale is 1 / samples. Leaves everything as it
  /// was when the gradient's norm is wanted and not finite. Collective.
  void run(Reducer& reducer, const Optimizer::Step& step);

  /// Of the last step, over all trained parameters; 0 when it is not clipped.
  double gradient_norm() const { return gradient_norm_; }
  /// Spent by the last step, but for waiting and exchange.
  double seconds() const { return seconds_; }

 private:
  bool wants_norms() const { return layerwise_ != nullptr || options_.optimizer.clip_grad > 0.0; }
  void allocate_norms();
  void apply(std::size_t begin, std::span<const float> sum);
  void apply_segment(const Segment& segment, std::size_t first, std::span<const float> sum);
  void average(std::size_t begin, std::size_t count);
  /// Norms of all blocks from those of this rank's slice of an arena.
  void measure(std::span<const float> owned, std::vector<double>& sums);
  double norm_of_trained() const;
  void choose_trust_ratios(std::span<float> sum);
  Optimizer::Step step_of(const Segment& segment) const;
  std::span<const std::span<float>> states_at(std::size_t first, std::size_t count);

  Communicator& communicator_;
  UpdaterOptions options_;
  std::unique_ptr<Optimizer> optimizer_;
  const LayerwiseOptimizer* layerwise_;  ///< the same, or null
  std::vector<Segment> segments_;
  BlockNorms norms_;
  Slices slices_;
  std::size_t first_ = 0, last_ = 0;  ///< elements that this rank updates
  std::vector<Buffer> states_;
  std::vector<std::span<float>> state_parts_;
  PartialSums averages_exchange_;

  std::vector<double> own_sums_, gradient_sums_, parameter_sums_;  ///< of blocks
  std::vector<std::size_t> sum_bytes_;
  std::vector<float> trust_ratios_;  ///< of parameters

  Optimizer::Step step_;
  float statistic_scale_ = 1.0F;
  double gradient_norm_ = 0.0;
  double seconds_ = 0.0;
  Reducer::Apply apply_;
};

}  // namespace lockstep
