#include "lockstep/sampler.h"

#include "core/hash.h"
#include "core/random/hash_integer.h"
#include "core/random/permutation.h"

namespace lockstep {
Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch) {
  const KeyedPermutation permutation = keyed_permutation(size, seed, epoch);
  size_ = size;
  half_bits_ = permutation.half_bits;
  round_keys_ = permutation.round_keys;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  return KeyedPermutation{.size = size_, .half_bits = half_bits_, .round_keys = round_keys_}(position);
}

void VisitSum::add(std::uint64_t id) {
  const Wide hash = hash_integer(id);
  add(from_words({hash.low, hash.high}));
}

void VisitSum::add(std::uint64_t id, std::span<const std::uint8_t> contents) {
  add(from_words(hash_with_seed(std::as_bytes(contents), id)));
}

VisitSum VisitSum::since(const VisitSum& earlier) const {
  const std::uint64_t borrow = words_[0] < earlier.words_[0] ? 1 : 0;
  return from_words({words_[0] - earlier.words_[0], words_[1] - earlier.words_[1] - borrow});
}

void VisitSum::add(const VisitSum& other) {
  Wide sum{words_[0], words_[1]};
  sum += {other.words_[0], other.words_[1]};
  words_ = {sum.low, sum.high};
}

VisitSum VisitSum::from_words(std::array<std::uint64_t, 2> words) {
  VisitSum sum;
  sum.words_ = words;
  return sum;
}

VisitSum VisitSum::expected(std::uint64_t size) {
  VisitSum sum;
  for (std::uint64_t id = 0; id < size; ++id) {
    sum.add(id);
  }
  return sum;
}

}  // namespace lockstep
