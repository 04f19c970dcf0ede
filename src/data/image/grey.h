#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

/// Luma of ITU-R BT.601 in 16-bit fixed point, as in libjpeg.
inline int luma(int red, int green, int blue) {
  return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
}

inline void rgb_to_grey(const std::uint8_t* rgb, std::size_t count, std::uint8_t* grey) {
  for (std::size_t i = 0; i < count; ++i, rgb += 3) {
    grey[i] = static_cast<std::uint8_t>(luma(rgb[0], rgb[1], rgb[2]));
  }
}

}  // namespace lockstep
