#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace lockstep {

/// 128-bit number; additions are modulo 2^128.
struct Wide {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  LOCKSTEP_HD Wide& operator+=(const Wide& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
    return *this;
  }
};

/// Product of two 64-bit numbers.
LOCKSTEP_HD inline Wide multiply_wide(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t half = 0xffffffffULL;
  const std::uint64_t low = (a & half) * (b & half);
  const std::uint64_t cross = (a >> 32) * (b & half) + (low >> 32);  // below 2^64
  const std::uint64_t other = (a & half) * (b >> 32) + (cross & half);
  return {(other << 32) | (low & half), (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32)};
}

/// XXH3 128-bit hash of the eight little-endian bytes of `value` (xxHash's XXH3_len_4to8_128b, seed 0).
LOCKSTEP_HD inline Wide hash_integer(std::uint64_t value) {
  constexpr std::uint64_t secret =
      0xdb979083e96dd4deULL ^ 0x1f67b3b7a4a44072ULL;  // bytes 16 to 31 of XXH3's secret
  constexpr std::uint64_t prime = 0x9e3779b185ebca87ULL;
  constexpr std::uint64_t bytes = 8;
  Wide hash = multiply_wide(value ^ secret, prime + (bytes << 2));
  hash.high += hash.low << 1;
  hash.low ^= hash.high >> 3;
  hash.low = (hash.low ^ (hash.low >> 35)) * 0x9fb21c651e98df25ULL;
  hash.low ^= hash.low >> 28;
  hash.high = (hash.high ^ (hash.high >> 37)) * 0x165667919e3779f9ULL;
  hash.high ^= hash.high >> 32;
  return hash;
}

}  // namespace lockstep
