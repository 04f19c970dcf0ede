#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/exchange.h"
#include "core/step_state.h"
#include "core/tree.h"
#include "device/device.h"
#include "lockstep/network.h"
#include "lockstep/optimizer.h"
#include "optim/block_norms.h"
#include "optim/segments.h"

namespace lockstep {

/// What an update is made of; everything named here outlives it.
struct ArenaUpdateOptions {
  Device& device;
  const Optimizer& optimizer;
  const OptimizerOptions& rule;  ///< what the optimizer was made of
  const std::vector<Segment>& segments;
  const BlockNorms& norms;
  std::size_t parameters = 0;                ///< of the network
  std::size_t first = 0, last = 0;           ///< elements that this rank updates
  std::span<float> values;                   ///< the parameters' arena, in the device's memory
  std::span<float> averages;                 ///< of the averaged weights; empty: there are none
  double average_decay = 0.0;                ///< averages += (1 - average_decay) * (values - averages)
  std::span<const std::span<float>> states;  ///< of the rule, of elements [first, last)
  StepLog log;                               ///< which step this is: rate and number; what it found
};

/// What a step does to the elements of the arenas that one rank updates: norms, clipping, the optimizer's
/// rule, running statistics, averages. On one device; recorded on a stream, and
/// outlives the recording. All addresses are the device's. The same bits on any number of ranks. Nothing
/// changes in a step whose outcome says so (StepOutcome::updates).
class ArenaUpdate {
 public:
  virtual ~ArenaUpdate() = default;
  /// Applies the total gradient of the chunk's elements, which is what `fold` makes of its inputs. `fold`
  /// outlives the recording.
  virtual void apply(Stream& stream, const SumChunk& chunk, const Fold& fold) = 0;
  /// Sums of squares of the blocks of this rank's elements, of which `values` holds some quantity.
  virtual void measure(Stream& stream, const float* values, double* sums) = 0;
  /// From the sums of squares of all blocks of the gradient: writes its norm to the step's outcome, and
  /// scales the step so that it is at most the largest that the rule allows. A norm that is not finite: no
  /// update.
  virtual void clip(Stream& stream, const double* sums) = 0;
  /// Layer-wise rules: turns `sum`, the total gradient of this rank's elements, into what the trust ratios
  /// are about.
  virtual void prepare(Stream& stream, float* sum) = 0;
  /// Layer-wise rules: trust ratios from the sums of squares of all blocks.
  virtual void choose_trust_ratios(Stream& stream, const double* gradient_sums,
                                   const double* parameter_sums) = 0;
};

std::unique_ptr<ArenaUpdate> make_cpu_arena_update(const ArenaUpdateOptions& options);

}  // namespace lockstep
