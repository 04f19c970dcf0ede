#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/step_state.h"
#include "device/cuda/launch.h"
#include "device/table.h"
#include "optim/block_norms.h"
#include "optim/rules/rules.h"
#include "optim/segments.h"

/// What a step does with the sum of all gradients, on a GPU: the parts of train/step/updater.h, with its
/// bits. A step is, after conclude_leaves (ops/cuda/step.h):
///   clipping     measure the sum, add_blocks, clip
///   layer-wise   prepare, measure the sum and the values, add_blocks of both, choose_trust_ratios
///   always       update
/// Where the outcome says that nothing is updated, they do nothing but measure.
namespace lockstep::cuda {

/// Most states that a rule has.
constexpr std::size_t most_states = 2;

/// What the updates of a run read and write; addresses of the device. Elements are counted in the arena.
struct UpdateMemory {
  StepLog log;
  std::uint32_t* stopped = nullptr;          ///< as conclude_leaves has it
  float* values = nullptr;                   ///< the parameters' arena
  float* averages = nullptr;                 ///< arena of the averaged weights; null: there are none
  float average_take = 0.0F;                 ///< averages += average_take * (values - averages)
  std::array<float*, most_states> states{};  ///< of the elements from `first` on; null: the rule has fewer
  std::size_t first = 0;
  const Segment* segments = nullptr;
  std::uint32_t segment_count = 0;
  float* trust_ratios = nullptr;      ///< [parameter]
  std::byte* coefficients = nullptr;  ///< [segment], room for the largest
};

/// Blocks of an arena as BlockNorms has them; addresses of the device.
struct NormMemory {
  const BlockNorms::Block* blocks = nullptr;
  const std::size_t* first_blocks = nullptr;  ///< of each parameter, and one more
  std::size_t parameters = 0;
};

/// The tables of both; they do not change during a run. Owns them.
class UpdateTables {
 public:
  UpdateTables(Device& device, std::span<const Segment> segments, const BlockNorms& norms);
  /// With all that the tables give set, and nothing else.
  UpdateMemory update() const;
  NormMemory norms() const;

 private:
  Table<Segment> segments_;
  Table<BlockNorms::Block> blocks_;
  Table<std::size_t> first_blocks_;
  Buffer trust_ratios_;
  Buffer coefficients_;
};

/// Sums of squares of the blocks [first, first + count); `values` begins where block `first` does.
void measure(StreamHandle stream, const NormMemory& norms, std::size_t first, std::size_t count,
             const float* values, double* sums);

/// Sums of squares of all parameters from those of all blocks.
void add_blocks(StreamHandle stream, const NormMemory& norms, const double* sums, double* squares);

/// From the sums of squares of all parameters' gradients: the norm over the trained ones, and the factor that
/// limits it to `largest`, multiplied into the outcome's gradient_scale. Stops when the norm is not finite.
void clip(StreamHandle stream, const UpdateMemory& memory, const double* squares, double largest);

/// Optimizer::prepare of the elements [begin, begin + count); `sum` begins there. Here and below,
/// begin and count are multiples of 16, and addresses of 64.
void prepare(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory, std::size_t begin,
             std::size_t count, float* sum);

/// From the sums of squares of all parameters and of what `prepare` made of their gradients.
void choose_trust_ratios(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory,
                         const double* parameter_squares, const double* gradient_squares);

/// Updates the elements [begin, begin + count) by their segments, and their averages; `sum` begins there.
void update(StreamHandle stream, const OptimizerRule& rule, const UpdateMemory& memory, std::size_t begin,
            std::size_t count, const float* sum);

}  // namespace lockstep::cuda
