#pragma once

#include <cstddef>

namespace lockstep {

/// Lays out arrays of `Element` one after the other, each aligned to `alignment` bytes.
template <class Element, std::size_t alignment>
class ScratchLayout {
 public:
  /// Appends an array of `count` elements and returns its offset in bytes.
  std::size_t add(std::size_t count) {
    const std::size_t offset = bytes_;
    bytes_ += (count * sizeof(Element) + alignment - 1) / alignment * alignment;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace lockstep
