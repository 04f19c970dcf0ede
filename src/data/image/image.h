#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// Pixels as decoders give them: [row][column][channel].
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;  ///< may be longer than the image: it only grows
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

/// A part of an image; pixel (row, column) covers [column, column + 1) x [row, row + 1).
struct Box {
  double left = 0.0;
  double top = 0.0;
  double width = 0.0;
  double height = 0.0;
};

/// An image, and where in it the wanted part lies.
struct ImagePart {
  Image image;
  Box box;
};

/// Most pixels that an image file may have; checked before memory is taken.
constexpr std::int64_t most_pixels = std::int64_t{1} << 26;

}  // namespace lockstep
