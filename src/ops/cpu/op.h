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
#include "ops/op_memory.h"
#include "ops/plan.h"
#include "ops/scratch_layout.h"

namespace lockstep::cpu {

/// Images lie in SIMD lanes: every activation is [group][channel][row][column][16 images], float, aligned to
/// 64 bytes. Lanes of the last group beyond the number of samples hold zeros in the input, anything finite
/// after it, and zeros in every gradient.
constexpr int lanes = 16;
constexpr int groups_of(int samples) { return (samples + lanes - 1) / lanes; }

using OpMemory = NodeMemory<float>;

/// Plan of an operation for a CPU executor, for micro-batches of up to the planned number of samples. It does
/// not depend on the number of executors, and allocates nothing when run.
struct Op {
  std::size_t saved_bytes = 0;
  std::size_t scratch_bytes = 0;
  bool backward_reads_inputs = false;
  bool backward_reads_output = false;
  std::function<void(const OpMemory&)> forward;
  std::function<void(const OpMemory&)> backward;
};

/// Memory of the loss. Arrays with one entry per sample are [group][16]: in missing lanes, labels are -1,
/// shares 1.
using LossMemory = LossTensors<float>;

/// Plan of the loss for a CPU executor.
struct Loss {
  std::size_t scratch_bytes = 0;
  std::function<void(const LossMemory&)> run;
};

using ScratchLayout = lockstep::ScratchLayout<float, 64>;

inline float* floats_at(std::byte* memory, std::size_t offset) {
  return reinterpret_cast<float*>(memory + offset);
}

/// Everything that an operation is planned from.
struct OpRequest {
  const GraphNode& node;
  std::array<Shape, max_inputs> inputs;  ///< shapes of its inputs as stored (cropped)
  int samples;                           ///< largest micro-batch
  bool training;                         ///< false: forward only, running statistics, no dropout
  bool input_gradient;                   ///< whether backward must write grad_inputs
  Level level;
  int position = 0;  ///< position of the node in the graph
};

/// Plan of the node's operation.
Op plan_op(const OpRequest& request);

// plan(options, request) for each operation, which request.node holds: a file of each name.
#define LOCKSTEP_DECLARE_PLAN(Options) Op plan(const Options& options, const OpRequest& request);
LOCKSTEP_OPERATIONS(LOCKSTEP_DECLARE_PLAN)
#undef LOCKSTEP_DECLARE_PLAN

/// Softmax and cross-entropy, summed over the samples, with the gradient of the sum with respect to the
/// logits. `smoothing`: the share of every target that is spread evenly over the classes (Szegedy et al.,
/// 2016).
Loss plan_cross_entropy(Shape logits, float smoothing, Level level);

/// Loads one group of a micro-batch into lanes, its samples from `first` (a multiple of 16) on: see
/// MicroBatch for the arithmetic. Samples are cropped to the leading rows and columns of `target`; missing
/// lanes are zeros.
void gather(Level level, const MicroBatch& batch, const SampleFormat& format, int first, Shape target,
            float* out);

}  // namespace lockstep::cpu
