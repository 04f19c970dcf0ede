#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace lockstep {

/// Decoder of JPEG files (libjpeg-turbo). Not thread-safe: each executor needs one. Error messages contain
/// only the reason, no file name: Error(data), or Error(resource) when memory is short.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();

  /// Reads the header of `file`, which must outlive the next decode.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes the part `box` of the opened file as `channels` (1 or 3) channels, with a margin, at the lowest
  /// resolution (1, 1/2, 1/4 or 1/8) at which the part has at least `min_size` pixels. Does not read the rows
  /// below the part.
  void decode(const Box& box, ImageSize min_size, int channels, ImagePart& part);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Name and version of the library that the program was built with.
std::string jpeg_library();

/// Largest width and height, in pixels, that libjpeg can encode.
constexpr int largest_jpeg_side = 65500;

/// Encodes an image of 1 or 3 channels with 4:2:0 chroma subsampling; `quality`: 1 to 100.
std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality);

}  // namespace lockstep
