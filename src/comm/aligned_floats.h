#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

/// Array of floats that begins at a cache line; initially zero.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::size_t count = 0) { grow(count); }
  /// Grows to at least `count` floats. Pointers stay valid if the array already has that many.
  void grow(std::size_t count) {
    if (lines_.size() * per_line < count) lines_.resize((count + per_line - 1) / per_line);
  }
  float* data() { return lines_.empty() ? nullptr : lines_.front().values; }

 private:
  static constexpr std::size_t per_line = 16;
  struct alignas(64) Line {
    float values[per_line];
  };
  std::vector<Line> lines_;
};

}  // namespace lockstep
