#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lockstep {

/// Order in which one epoch visits the samples: a keyed permutation of [0, size). O(1) memory; any position
/// is computed directly. Feistel network over the next power of four with cycle walking (Black and Rogaway,
/// 2002), whose round keys are Philox numbers of (seed; Purpose::order, epoch, round) and whose round
/// function is SplitMix64's finaliser (Steele, Lea, Flood, 2014), measured to be five times faster than
/// Philox.
class Permutation {
 public:
  /// size > 0; epochs count from 0.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch);
  /// Sample id at `position` < size. Does not allocate; safe from any thread.
  std::uint64_t operator()(std::uint64_t position) const;

 private:
  std::uint64_t size_;
  std::uint32_t half_bits_;
  std::array<std::uint64_t, 8> round_keys_;
};

/// Evidence that each sample was visited exactly once: the sum modulo 2^128 of the XXH3 128-bit hashes of all
/// visited ids, in any order. A second sum, over ids with contents, shows whether two epochs read the same
/// bytes.
class VisitSum {
 public:
  void add(std::uint64_t id);
  /// Adds the hash of `contents`, with `id` as its seed.
  void add(std::uint64_t id, std::span<const std::uint8_t> contents);
  void add(const VisitSum& other);
  /// Sum of the visits in this sum that are not in `earlier`; this sum must include all visits in `earlier`.
  VisitSum since(const VisitSum& earlier) const;
  std::array<std::uint64_t, 2> words() const { return words_; }  ///< low, high
  static VisitSum from_words(std::array<std::uint64_t, 2> words);
  /// Sum after one visit of each id in [0, size).
  static VisitSum expected(std::uint64_t size);
  bool operator==(const VisitSum&) const = default;

 private:
  std::array<std::uint64_t, 2> words_{};
};

}  // namespace lockstep
