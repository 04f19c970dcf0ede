#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

/// Luma of ITU-R BT.601 in 16-bit fixed point, as in libjpeg.
inline void rgb_to_grey(const std::uint8_t* rgb, std::size_t count, std::uint8_t* grey) {
  for (std::size_t i = 0; i < count; ++i, rgb += 3) {
    grey[i] = static_cast<std::uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
  }
}

}  // namespace lockstep
