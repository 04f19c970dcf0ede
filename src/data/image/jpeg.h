#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace lockstep {

/// JPEG files through libjpeg-turbo. One per executor. All errors are Error(data) with the reason alone, but
/// for Error(resource) when memory is short.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();

  /// Reads the header of `file`, which must live until the next open or decode has returned.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes the part `box` of the opened file as `channels` (1 or 3) channels, with a margin, at the lowest
  /// resolution (1, 1/2, 1/4 or 1/8) that leaves the part `least` pixels. Lines below it are not looked at.
  void decode(const Box& box, ImageSize least, int channels, ImagePart& part);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Name and version of the library that this program was built with.
std::string jpeg_library();

/// Encodes `image` (1 or 3 channels) with 4:2:0 colour; quality 1 to 100.
std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality);

}  // namespace lockstep
