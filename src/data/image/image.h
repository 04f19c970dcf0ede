#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

/// Decoded pixels, [row][column][channel].
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;  ///< may be longer than the image, as it only grows

  void set_size(int columns, int rows, int channel_count) {
    width = columns;
    height = rows;
    channels = channel_count;
    const auto count = static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows);
    pixels.resize(std::max(pixels.size(), count * static_cast<std::size_t>(channel_count)));
  }
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

/// Part of an image, in which pixel (row, column) covers [column, column + 1) x [row, row + 1).
struct Box {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;
};

/// An image and the requested part of it.
struct ImagePart {
  Image image;
  Box box;
};

/// Maximum number of pixels of an image file, checked before memory is allocated.
constexpr std::int64_t max_pixels = std::int64_t{1} << 26;

}  // namespace lockstep
