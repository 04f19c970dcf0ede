#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

/// Floats that begin at a cache line; zero at first.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::size_t count = 0) { grow(count); }
  /// Grows to at least `count` floats. Pointers stay valid if that many fit already.
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
