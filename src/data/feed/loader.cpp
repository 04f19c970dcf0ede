#include "data/feed/loader.h"

#include <algorithm>

namespace lockstep {

Loader::Loader(const Dataset& dataset, std::uint32_t micro_batch, const InputOptions& input,
               const AugmentOptions& augment, std::uint64_t seed)
    : dataset_(dataset),
      micro_batch_(micro_batch),
      transform_(input, dataset, augment, seed),
      bad_samples_(input.strict),
      rule_(transform_.rule()) {}

void Loader::set_step(std::uint64_t first, std::uint64_t samples) {
  first_ = first;
  samples_ = samples;
}

std::uint32_t Loader::leaves(std::uint64_t samples) const {
  return static_cast<std::uint32_t>((samples + micro_batch_ - 1) / micro_batch_);
}

std::uint32_t Loader::samples(std::uint32_t leaf) const {
  const std::uint64_t begin = std::uint64_t{leaf} * micro_batch_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(micro_batch_, samples_ - begin));
}

std::uint32_t Loader::number(std::uint32_t leaf) const {
  return static_cast<std::uint32_t>(first_ / micro_batch_) + leaf;
}

}  // namespace lockstep
