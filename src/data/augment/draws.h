#pragma once

#include <array>
#include <cstdint>

#include "core/random/philox.h"

namespace lockstep {

/// One visit of a sample in an epoch. The sample's random numbers are a function of these members.
struct SampleVisit {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t id = 0;  ///< below 2^48 (below 2^40 with dropout)
};

/// Random number generator for one purpose and one visit.
class Draws {
 public:
  LOCKSTEP_HD Draws(const SampleVisit& visit, Purpose purpose) : visit_(visit), purpose_(purpose) {}

  /// Draws 32 random bits. Must not be called more than 2^18 times.
  LOCKSTEP_HD std::uint32_t bits() {
    if (drawn_ % 4 == 0) {
      words_ = philox(visit_.seed, {static_cast<std::uint32_t>(purpose_), visit_.epoch,
                                    static_cast<std::uint32_t>(visit_.id),
                                    static_cast<std::uint32_t>(visit_.id >> 32) | drawn_ / 4 << 16});
    }
    return words_[drawn_++ % 4];
  }
  /// Uniform in (0, 1).
  LOCKSTEP_HD double uniform() { return (static_cast<double>(bits()) + 0.5) * 0x1p-32; }
  LOCKSTEP_HD double uniform(double min, double max) { return min + (max - min) * uniform(); }
  /// Uniform in [0, count).
  LOCKSTEP_HD int below(int count) {
    return static_cast<int>((std::uint64_t{bits()} * static_cast<std::uint64_t>(count)) >> 32);
  }

 private:
  SampleVisit visit_;
  Purpose purpose_;
  std::uint32_t drawn_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace lockstep
