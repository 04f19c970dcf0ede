#include <cmath>

#include "optim/clip.h"
#include "optim/cuda/update.h"

namespace lockstep::cuda {
namespace {

/// sum_of_squares of optim/block_norms.h: term i is the sum of one of its lanes, and the other terms of the
/// row are zeros, so that its lanes are folded in its order.
struct MeasureBlocks {
  using Sum = double;
  static constexpr std::size_t lanes = 16;
  const BlockNorms::Block* blocks;  ///< from the first on
  const float* values;
  double* sums;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const { return lanes; }
  LOCKSTEP_HD double term(std::size_t row, std::size_t lane) const {
    const float* begin = values + (blocks[row].begin - blocks[0].begin);
    const std::size_t count = blocks[row].count;
    double sum = 0.0;
    for (std::size_t at = lane; at < count; at += lanes) {
      const double value = begin[at];
      sum += value * value;
    }
    return sum;
  }
  LOCKSTEP_HD void finish(std::size_t row, double sum) const { sums[row] = sum; }
};

/// Sums of doubles in ascending order. Loads in groups, so that they do not wait for one another.
LOCKSTEP_HD double sum_in_order(const double* values, std::size_t count) {
  constexpr std::size_t group = 16;
  double sum = 0.0;
  std::size_t at = 0;
  for (; at + group <= count; at += group) {
    double loaded[group];
    for (std::size_t i = 0; i < group; ++i) loaded[i] = values[at + i];
    for (std::size_t i = 0; i < group; ++i) sum += loaded[i];
  }
  for (; at < count; ++at) sum += values[at];
  return sum;
}

struct AddBlocks {
  NormMemory norms;
  const double* sums;
  double* squares;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const std::size_t first = norms.first_blocks[i];
    squares[i] = sum_in_order(sums + first, norms.first_blocks[i + 1] - first);
  }
};

struct Clip {
  UpdateMemory memory;
  const double* squares;
  double largest;

  LOCKSTEP_HD void operator()(std::size_t) const {
    StepOutcome& outcome = memory.log.outcome();
    if (outcome.updates == 0) return;
    const double norm = norm_of_trained() * outcome.gradient_scale;
    outcome.gradient_norm = norm;
    if (std::isfinite(norm)) {
      outcome.gradient_scale *= static_cast<float>(clip_coefficient(largest, norm));
    } else {
      outcome.updates = 0;
      *memory.stopped = 1;
    }
  }

  LOCKSTEP_HD double norm_of_trained() const {
    double total = 0.0;
    for (std::uint32_t s = 0; s < memory.segment_count; ++s) {
      const Segment& segment = memory.segments[s];
      if (segment.kind != Segment::Kind::trained) continue;
      for (std::size_t i = 0; i < segment.parameters; ++i) total += squares[segment.parameter + i];
    }
    return sqrt(total);
  }
};

}  // namespace

void measure(StreamHandle stream, const NormMemory& norms, std::size_t first, std::size_t count,
             const float* values, double* sums) {
  for_each_row(stream, count, MeasureBlocks{norms.blocks + first, values, sums});
}

void add_blocks(StreamHandle stream, const NormMemory& norms, const double* sums, double* squares) {
  for_each(stream, norms.parameters, AddBlocks{norms, sums, squares});
}

void clip(StreamHandle stream, const UpdateMemory& memory, const double* squares, double largest) {
  for_each(stream, 1, Clip{memory, squares, largest});
}

}  // namespace lockstep::cuda
