#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

/// What a random number is for: word 0 of every counter, so that no two purposes ever share numbers.
/// Values are fixed for ever: they are part of the result of a run.
enum class Purpose : std::uint32_t {
  parameters = 1,  ///< initial weights
  order = 2,       ///< order of the samples in an epoch
  dropout = 3,     ///< elements that dropout zeroes
  synthetic = 4,   ///< pixels of made-up images
  crop = 16,       ///< place of the part of an image that is cut out
  resized_crop = 17,
  flip = 18,
  cutout = 19,
  mixup = 20,
  randaugment = 21,
};

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011):
/// a keyed bijection of 128-bit counters. No state: the same key and counter give the same numbers anywhere.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter);

/// 24-bit uniform number in [0, 1), exact in float.
float uniform(std::uint32_t bits);

/// Standard normal number from 52 random bits, by inversion of the distribution function (Wichura,
/// algorithm AS 241, PPND16, Applied Statistics 37, 1988). IEEE additions, multiplications, divisions and
/// square roots only, logarithm included, so that every machine gives the same bits.
double normal(std::uint32_t high, std::uint32_t low);

}  // namespace lockstep
