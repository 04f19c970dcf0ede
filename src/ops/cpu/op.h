#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/operations.h"
#include "ops/cpu/level.h"
#include "ops/plan.h"

namespace lockstep::cpu {

/// Images in SIMD lanes: every activation is [group][channel][row][column][16 images], float, aligned to 64
/// bytes. Lanes of the last group beyond the number of samples hold zeros in the input, anything finite
/// after it, and zeros in every gradient.
constexpr int lanes = 16;
constexpr int groups_of(int samples) { return (samples + lanes - 1) / lanes; }

/// One operation's view of an executor's memory during one micro-batch. Pointers that an operation does not
/// have are null.
struct OpMemory {
  int samples = 0;  ///< images in the micro-batch, >= 1
  std::array<const float*, max_inputs> inputs{};
  float* output = nullptr;  ///< backward: to read, where the operation asked for it
  const float* grad_output = nullptr;
  /// Written, not added to; null where the gradient of that input is not wanted.
  std::array<float*, max_inputs> grad_inputs{};
  /// In the order of the network's: weight, bias, running mean, running variance; plain PyTorch layouts.
  std::array<const float*, max_parameters> parameters{};
  /// Sums over the samples, written, not added to; same layout as the parameters. Running statistics:
  /// samples * what the micro-batch observed.
  std::array<float*, max_parameters> grad_parameters{};
  std::byte* saved = nullptr;            ///< kept from forward to backward
  std::byte* scratch = nullptr;          ///< free between calls
  const std::int32_t* labels = nullptr;  ///< loss only: [group][16], -1 in missing lanes
  /// Loss only, of plans for mixed samples, else null: the partner's label, and the share of the sample's
  /// own; [group][16], -1 and 1 in missing lanes.
  const std::int32_t* other_labels = nullptr;
  const float* shares = nullptr;
  const std::uint64_t* ids = nullptr;   ///< dropout only: of the samples
  RandomKey random;                     ///< dropout only
  std::int32_t* predictions = nullptr;  ///< loss only: [group][16]
  LeafResult* result = nullptr;         ///< loss only
};

/// How one operation runs on a CPU executor, for micro-batches of up to the planned number of samples.
/// Nothing in it depends on the number of executors; no allocation when run.
struct Op {
  std::size_t saved_bytes = 0;
  std::size_t scratch_bytes = 0;
  bool backward_reads_inputs = false;
  bool backward_reads_output = false;
  std::function<void(const OpMemory&)> forward;
  std::function<void(const OpMemory&)> backward;
};

/// What an op is planned from.
struct OpRequest {
  const GraphNode& node;
  std::array<Shape, max_inputs> inputs;  ///< shapes of its inputs as stored (cropped)
  int samples;                           ///< largest micro-batch
  bool training;                         ///< false: forward only, running statistics, no dropout
  bool input_gradient;                   ///< whether backward must write grad_inputs
  Level level;
  int position = 0;  ///< of the node in the graph
};

/// The plan of the node's operation.
Op plan_op(const OpRequest& request);

// plan(options, request) for each operation, which request.node holds: a file of each name.
#define LOCKSTEP_DECLARE_PLAN(Options) Op plan(const Options& options, const OpRequest& request);
LOCKSTEP_OPERATIONS(LOCKSTEP_DECLARE_PLAN)
#undef LOCKSTEP_DECLARE_PLAN

/// Softmax and cross-entropy, summed over the samples; writes the gradient of the sum with respect to the
/// logits into grad_inputs[0] in forward already when it is not null. No backward. `smoothing`: the share of
/// every target that is spread evenly over the classes (Szegedy et al., 2016).
Op plan_cross_entropy(Shape logits, float smoothing, Level level);

/// Brings one group of a batch, its samples from `first` (a multiple of 16) on, into lanes: see Batch for the
/// arithmetic. Samples have `source` shape and are cropped to the leading rows and columns of `target`;
/// missing lanes are zeros.
using GatherGroup = void (*)(const Batch& batch, int first, Shape source, Shape target, float* out);
GatherGroup gather_group(Level level);

}  // namespace lockstep::cpu
