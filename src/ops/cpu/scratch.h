#pragma once

#include <cstddef>

namespace lockstep::cpu {

/// Lays out arrays of floats one after the other, each aligned to 64 bytes.
class ScratchLayout {
 public:
  /// Offset in bytes of `floats` more floats.
  std::size_t add(std::size_t floats) {
    const std::size_t offset = bytes_;
    bytes_ += (floats * sizeof(float) + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

inline float* floats_at(std::byte* memory, std::size_t offset) {
  return reinterpret_cast<float*>(memory + offset);
}

}  // namespace lockstep::cpu
