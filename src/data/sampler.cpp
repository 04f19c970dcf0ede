#include "lockstep/sampler.h"

#include <bit>
#include <utility>

#include "core/hash.h"
#include "core/philox.h"

namespace lockstep {
namespace {

/// Finaliser of SplitMix64.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

// Four rounds with random round functions make a pseudo-random permutation (Luby and Rackoff, 1988), for
// large domains. Chi-square over seeds of the ids at positions 0 and 1: with 6 rounds sizes from 60 on are
// uniform, size 11 is 41 standard deviations off; with 8 rounds it is 4 off, at 200,000 seeds.
Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch)
    : size_(size), half_bits_(0), round_keys_{} {
  if (size > 1) {
    half_bits_ = (static_cast<std::uint32_t>(std::bit_width(size - 1)) + 1) / 2;
  }
  for (std::uint32_t round = 0; round < round_keys_.size(); ++round) {
    const auto words = philox(seed, {static_cast<std::uint32_t>(Purpose::order), epoch, round, 0});
    round_keys_[round] = (std::uint64_t{words[1]} << 32) | words[0];
  }
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (const std::uint64_t key : round_keys_) {
      left ^= mix(right ^ key) & mask;
      std::swap(left, right);
    }
    value = (left << half_bits_) | right;
  } while (value >= size_);
  return value;
}

void VisitSum::add(std::uint64_t id) { add(from_words(hash_integer(id))); }

void VisitSum::add(const VisitSum& other) {
  words_[0] += other.words_[0];
  const std::uint64_t carry = words_[0] < other.words_[0] ? 1 : 0;
  words_[1] += other.words_[1] + carry;
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
