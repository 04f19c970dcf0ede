#pragma once

#include <cstddef>

#include "core/host_device.h"

namespace lockstep::cuda {

/// Vector of `count` adjacent floats, which a thread loads or stores with one instruction. GPUs reach full
/// memory bandwidth with four.
template <std::size_t count>
struct alignas(count * sizeof(float)) Floats {
  float values[count];

  LOCKSTEP_HD float& operator[](std::size_t i) { return values[i]; }
  LOCKSTEP_HD float operator[](std::size_t i) const { return values[i]; }
};
constexpr std::size_t four_floats = 4;

// Addresses must be multiples of sizeof(Floats<count>). nvcc would compile a memcpy to byte loads.
template <std::size_t count>
LOCKSTEP_HD inline Floats<count> load_floats(const float* from) {
  return *reinterpret_cast<const Floats<count>*>(from);
}
template <std::size_t count>
LOCKSTEP_HD inline void store_floats(float* to, const Floats<count>& values) {
  *reinterpret_cast<Floats<count>*>(to) = values;
}

}  // namespace lockstep::cuda
