#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/host_device.h"
#include "graph/graph.h"

namespace lockstep {

/// Euclidean norms of parameters. Their bits do not depend on which rank computes which part of an arena: the
/// arena is divided into blocks of up to 1,024 elements, each within one parameter. The squares in a block
/// are added in a fixed order, the sums of a parameter's blocks in ascending order.
class BlockNorms {
 public:
  BlockNorms(const std::vector<Parameter>& parameters, const ArenaLayout& layout);

  struct Block {
    std::size_t begin, count;  ///< elements of the arena
  };
  std::span<const Block> all_blocks() const { return blocks_; }
  /// Index of each parameter's first block, then blocks().
  std::span<const std::size_t> first_blocks() const { return first_blocks_; }
  std::size_t blocks() const { return blocks_.size(); }
  /// Index of the first block that begins at or after `element`; blocks() if there is none.
  std::size_t block_at(std::size_t element) const;
  /// First element of block_at(element), or the end of the arena if there is no such block.
  std::size_t round_up(std::size_t element) const;

  /// Sums of squares of blocks [first, first + sums.size()); `values` begins where block `first` does.
  void measure(std::span<const float> values, std::size_t first, std::span<double> sums) const;

  /// Sum of squares of a parameter, computed from the sums of all blocks of the arena.
  double squares(std::size_t parameter, std::span<const double> sums) const;

 private:
  std::vector<Block> blocks_;
  std::vector<std::size_t> first_blocks_;
  std::size_t elements_;
};

/// Sum of squares in double: 16 interleaved sums, which are then added in pairs 8, 4, 2 and 1 apart.
double sum_of_squares(std::span<const float> values);

/// Factor, at most 1, by which a gradient with this norm is multiplied so that the norm is at most `max_norm`
/// (torch.nn.utils.clip_grad_norm_).
LOCKSTEP_HD inline double clip_coefficient(double max_norm, double norm) {
  const double coefficient = max_norm / (norm + 1e-6);
  return coefficient < 1.0 ? coefficient : 1.0;
}

}  // namespace lockstep
