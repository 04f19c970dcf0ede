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

/// Arenas that steps change, in device memory, and the slices of the ranks.
struct UpdatedArenas {
  Slices slices = {};              ///< elements that each of the owners updates
  std::span<float> values = {};    ///< parameters and statistics
  std::span<float> averages = {};  ///< averages of the values; empty: there are none
  double average_decay = 0.0;      ///< averages += (1 - average_decay) * (values - averages)
  std::vector<std::span<float>> states =
      {};  ///< states of the optimizer, each for the elements that this rank updates
};

/// Arguments of an update; objects that they refer to must outlive it.
struct ArenaUpdateOptions {
  Device& device;
  const Optimizer& optimizer;
  const std::vector<Segment>& segments;
  const BlockNorms& norms;
  const UpdatedArenas& arenas;
  std::size_t parameters = 0;       ///< number of the network's parameters
  std::size_t first = 0, last = 0;  ///< elements that this rank updates
  double clip_grad = 0.0;           ///< maximum norm of the gradient; 0: no limit
  StepLog log;                      ///< input and outcome of the step
};

/// Update of the elements that one rank owns: norms, clipping, the optimizer's rule, running statistics and
/// averages. Methods record work on a stream; the update must outlive the recording. All addresses are in
/// device memory. The bits are the same on any number of ranks. A step with StepOutcome::updates == 0 changes
/// nothing.
class ArenaUpdate {
 public:
  virtual ~ArenaUpdate() = default;
  /// Folds the chunk's inputs and applies the resulting total gradient to its elements. `fold` must outlive
  /// the recording.
  virtual void apply(Stream& stream, const SumChunk& chunk, const Fold& fold) = 0;
  /// Writes the sums of squares of the blocks of this rank's elements; `values` has one value for each
  /// element.
  virtual void measure(Stream& stream, const float* values, double* sums) = 0;
  /// Computes the gradient's norm from the sums of squares of all blocks, writes it to the step's outcome,
  /// and reduces the step's gradient scale if the norm exceeds clip_grad. A norm that is not finite prevents
  /// the update.
  virtual void clip(Stream& stream, const double* sums) = 0;
  /// Layer-wise rules: applies Optimizer::prepare to `sum`, the total gradient of this rank's elements.
  virtual void prepare(Stream& stream, float* sum) = 0;
  /// Layer-wise rules: sets trust ratios from the sums of squares of all blocks.
  virtual void choose_trust_ratios(Stream& stream, const double* gradient_sums,
                                   const double* parameter_sums) = 0;
};

std::unique_ptr<ArenaUpdate> make_cpu_arena_update(const ArenaUpdateOptions& options);

}  // namespace lockstep
