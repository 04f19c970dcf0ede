#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/step_state.h"
#include "device/cuda/stream_handle.h"
#include "device/table.h"
#include "optim/block_norms.h"
#include "optim/rules/rules.h"
#include "optim/segments.h"

/// Kernels of ArenaUpdate on a GPU, with the same bits as on the CPU. After conclude_leaves
/// (ops/cuda/step.h), a step consists of:
///   clipping     measure the sum, add_blocks, clip
///   layer-wise   prepare, measure the sum and the values, add_blocks of both, choose_trust_ratios
///   always       update
/// In steps without an update, only `measure` and `add_blocks` have an effect.
namespace lockstep::cuda {

/// Maximum number of states of a rule.
constexpr std::size_t max_states = 2;

/// Number of elements that a block of threads updates.
constexpr std::size_t segment_unit = 1024;

/// Memory that the updates of a run read and write. Addresses are in device memory.
struct UpdateMemory {
  StepLog log;
  std::uint32_t* stopped = nullptr;         ///< as in conclude_leaves
  float* values = nullptr;                  ///< arena of the parameters
  float* averages = nullptr;                ///< arena of the averaged weights; null: none
  float average_take = 0.0F;                ///< averages += average_take * (values - averages)
  std::array<float*, max_states> states{};  ///< for elements from `first` on; null beyond the rule's states
  std::size_t first = 0;
  const Segment* segments = nullptr;
  std::uint32_t segment_count = 0;
  /// Segment of every segment_unit-th element of the arena, then the last segment: bounds for a search.
  const std::uint32_t* unit_segments = nullptr;
  float* trust_ratios = nullptr;      ///< [parameter]
  std::byte* coefficients = nullptr;  ///< [segment], with room for the largest type
};

/// Blocks of an arena as in BlockNorms. Addresses are in device memory.
struct NormMemory {
  const BlockNorms::Block* blocks = nullptr;
  const std::size_t* first_blocks = nullptr;  ///< [parameter + 1]
  std::size_t parameters = 0;
};

/// Owner of the constant tables of UpdateMemory and NormMemory.
class UpdateTables {
 public:
  UpdateTables(Device& device, std::span<const Segment> segments, const BlockNorms& norms);
  /// UpdateMemory in which only the tables are set.
  UpdateMemory update() const;
  NormMemory norms() const;

 private:
  Table<Segment> segments_;
  Table<std::uint32_t> unit_segments_;
  Table<BlockNorms::Block> blocks_;
  Table<std::size_t> first_blocks_;
  Buffer trust_ratios_;
  Buffer coefficients_;
};

/// Writes sums of squares of the blocks [first, first + count); `values` begins where block `first` does.
void measure(StreamHandle stream, const NormMemory& norms, std::size_t first, std::size_t count,
             const float* values, double* sums);

/// Writes the sums of squares of all parameters, each the sum over the parameter's blocks.
void add_blocks(StreamHandle stream, const NormMemory& norms, const double* sums, double* squares);

/// Computes the norm of the trained parameters' gradients from sums of squares, and multiplies the outcome's
/// gradient_scale by the factor that limits the norm to `largest`. A norm that is not finite sets `stopped`.
void clip(StreamHandle stream, const UpdateMemory& memory, const double* squares, double largest);

/// Applies Optimizer::prepare to the elements [begin, begin + count); `sum` points to element `begin`. Here
/// and below, begin and count are multiples of 16, and addresses multiples of 64.
void prepare(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory, std::size_t begin,
             std::size_t count, float* sum);

/// Sets trust ratios from the sums of squares of all parameters and of their prepared gradients.
void choose_trust_ratios(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory,
                         const double* parameter_squares, const double* gradient_squares);

/// Updates the elements [begin, begin + count) as the kind of their segment requires, and their averages.
/// `sum` points to element `begin`.
void update(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory, std::size_t begin,
            std::size_t count, const float* sum);

}  // namespace lockstep::cuda
