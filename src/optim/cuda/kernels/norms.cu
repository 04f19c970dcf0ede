#include <cmath>

#include "device/cuda/native/launch.h"
#include "optim/cuda/update.h"

namespace lockstep::cuda {
namespace {

/// Number of blocks that a row of threads sums, with 16 lanes each.
constexpr std::size_t lanes = 16;
constexpr std::size_t row_blocks = row_threads / lanes;

/// One sum for each block of a row.
struct BlockSums {
  double values[row_blocks] = {};

  LOCKSTEP_HD BlockSums& operator+=(const BlockSums& other) {
    for (std::size_t b = 0; b < row_blocks; ++b) values[b] += other.values[b];
    return *this;
  }
};

/// Computes sum_of_squares of optim/block_norms.h. Term i sums lane i % 16 of the row's block i / 16. In the
/// reduction, terms 128 to 16 apart belong to different blocks, so that only zeros are added; terms 8 to 1
/// apart are the pairs of one block.
struct MeasureBlocks {
  using Sum = BlockSums;
  const BlockNorms::Block* blocks;  ///< from the first block to measure on
  std::size_t count;
  const float* values;
  double* sums;

  LOCKSTEP_HD std::size_t terms(std::size_t row) const {
    const std::size_t rest = (count - row * row_blocks) * lanes;
    return rest < row_threads ? rest : row_threads;
  }
  LOCKSTEP_HD BlockSums term(std::size_t row, std::size_t i) const {
    const double sum = sum_of_lane(blocks[row * row_blocks + i / lanes], i % lanes);
    BlockSums all;
    for (std::size_t b = 0; b < row_blocks; ++b) all.values[b] = b == i / lanes ? sum : 0.0;
    return all;
  }
  LOCKSTEP_HD double sum_of_lane(const BlockNorms::Block& block, std::size_t lane) const {
    const float* begin = values + (block.begin - blocks[0].begin);
    double sum = 0.0;
    for (std::size_t at = lane; at < block.count; at += lanes) {
      const double value = begin[at];
      sum += value * value;
    }
    return sum;
  }
  LOCKSTEP_HD void finish(std::size_t row, const BlockSums& all) const {
    for (std::size_t b = 0; b < row_blocks && row * row_blocks + b < count; ++b) {
      sums[row * row_blocks + b] = all.values[b];
    }
  }
};

/// Sum of doubles in order of index. Loads are grouped, so that they do not wait for one another.
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
  for_each_row(stream, (count + row_blocks - 1) / row_blocks,
               MeasureBlocks{norms.blocks + first, count, values, sums});
}

void add_blocks(StreamHandle stream, const NormMemory& norms, const double* sums, double* squares) {
  for_each(stream, norms.parameters, AddBlocks{norms, sums, squares});
}

void clip(StreamHandle stream, const UpdateMemory& memory, const double* squares, double largest) {
  for_each(stream, 1, Clip{memory, squares, largest});
}

}  // namespace lockstep::cuda
