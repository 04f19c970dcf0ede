#pragma once

#include <cstddef>

namespace lockstep {

/// Shape of one image or activation, without the batch. Vectors have height = width = 1.
struct Shape {
  int channels = 0;
  int height = 1;
  int width = 1;

  /// Number of elements.
  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  bool operator==(const Shape&) const = default;
};

}  // namespace lockstep
