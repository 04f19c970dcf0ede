#include "optim/block_norms.h"

#include <algorithm>
#include <array>

namespace lockstep {

double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t lanes = 16;
  std::array<double, lanes> sums{};
  const auto add = [&](std::size_t at, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const double value = values[at + lane];
      sums[lane] += value * value;
    }
  };
  const std::size_t whole = values.size() / lanes * lanes;
  for (std::size_t at = 0; at < whole; at += lanes) add(at, lanes);
  add(whole, values.size() - whole);
  for (std::size_t apart = lanes / 2; apart > 0; apart /= 2) {
    for (std::size_t lane = 0; lane < apart; ++lane) sums[lane] += sums[lane + apart];
  }
  return sums[0];
}

BlockNorms::BlockNorms(const std::vector<Parameter>& parameters, const ArenaLayout& layout)
    : elements_(layout.elements) {
  constexpr std::size_t block = 1024;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    first_blocks_.push_back(blocks_.size());
    const std::size_t size = parameters[i].size();
    for (std::size_t begin = 0; begin < size; begin += block) {
      blocks_.push_back({layout.offsets[i] + begin, std::min(block, size - begin)});
    }
  }
  first_blocks_.push_back(blocks_.size());
}

std::size_t BlockNorms::block_at(std::size_t element) const {
  const auto at = std::ranges::lower_bound(blocks_, element, {}, &Block::begin);
  return static_cast<std::size_t>(at - blocks_.begin());
}

std::size_t BlockNorms::round_up(std::size_t element) const {
  const std::size_t block = block_at(element);
  return block < blocks_.size() ? blocks_[block].begin : elements_;
}

void BlockNorms::measure(std::span<const float> values, std::size_t first, std::span<double> sums) const {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Block& block = blocks_[first + i];
    sums[i] = sum_of_squares(values.subspan(block.begin - blocks_[first].begin, block.count));
  }
}

double BlockNorms::squares(std::size_t parameter, std::span<const double> sums) const {
  double total = 0.0;
  for (std::size_t block = first_blocks_[parameter]; block < first_blocks_[parameter + 1]; ++block) {
    total += sums[block];
  }
  return total;
}

}  // namespace lockstep
