#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

/// Order in which one epoch visits the samples: a keyed permutation of [0, size).
/// O(1) memory; position i is computed directly, so any rank can start anywhere.
/// Feistel network over the next power of four with cycle walking (Black and Rogaway, 2002). Round keys are
/// Philox numbers of (seed; Purpose::order, epoch, round); the round function is SplitMix64's finaliser
/// (Steele, Lea, Flood, 2014), five times faster there than Philox itself.
class Permutation {
 public:
  /// size > 0; epochs count from 0.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch);
  /// Sample id at `position`; position < size. No allocation, safe from any thread.
  std::uint64_t operator()(std::uint64_t position) const;

 private:
  std::uint64_t size_;
  std::uint32_t half_bits_;
  std::array<std::uint64_t, 8> round_keys_;
};

/// Evidence that each sample was visited exactly once: the sum modulo 2^128 of a hash (xxh3-128) of every
/// visited id. Commutative, so ranks add theirs in any order.
class VisitSum {
 public:
  void add(std::uint64_t id);
  void add(const VisitSum& other);
  std::array<std::uint64_t, 2> words() const { return words_; }  ///< low, high
  static VisitSum from_words(std::array<std::uint64_t, 2> words);
  /// The sum after the ids [0, size) were each visited once.
  static VisitSum expected(std::uint64_t size);
  bool operator==(const VisitSum&) const = default;

 private:
  std::array<std::uint64_t, 2> words_{};
};

}  // namespace lockstep
