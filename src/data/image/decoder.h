#pragma once

#include "data/image/jpeg.h"
#include "data/image/png.h"

namespace lockstep {

/// Image files of either kind, told apart by their first bytes. One per executor. Errors have the reason
/// alone: Error(data) for other kinds of files, damaged ones, images of more than most_pixels,
/// Error(resource) when memory is short.
class ImageDecoder {
 public:
  /// Reads the header of `file`, which must live until decode has returned.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes at least the part `box` of the opened file as `channels` channels; it has `least` pixels or
  /// more, unless it has fewer in the file.
  void decode(const Box& box, ImageSize least, int channels, ImagePart& part);

 private:
  JpegDecoder jpeg_;
  PngDecoder png_;
  bool is_jpeg_ = false;
};

}  // namespace lockstep
