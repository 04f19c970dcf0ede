#pragma once

#include <cstddef>

namespace lockstep::cuda {

/// Lays out blocks of memory one after the other, each aligned to 256 bytes.
class ScratchLayout {
 public:
  /// Offset of `bytes` more bytes.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 255) / 256 * 256;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace lockstep::cuda
