#pragma once

#include "core/files/content.h"
#include "data/image/jpeg.h"
#include "data/image/png.h"
#include "data/image/webp.h"

namespace lockstep {

/// Decoder of JPEG, PNG and WebP files, recognised by their first bytes. Not thread-safe: each executor needs
/// one. Error messages contain only the reason, no file name: Error(data) for other or damaged files and for
/// images of more than max_pixels, Error(resource) when memory is short.
class ImageDecoder {
 public:
  /// Reads the header of `file`, which must outlive the next decode.
  ImageSize open(std::span<const std::uint8_t> file);
  /// Decodes at least the part `box` of the opened file as `channels` channels, at a resolution at which the
  /// part has at least `min_size` pixels if the file has as many.
  void decode(const Box& box, ImageSize min_size, int channels, ImagePart& part);

 private:
  JpegDecoder jpeg_;
  PngDecoder png_;
  WebpDecoder webp_;
  ImageFormat format_ = ImageFormat::none;
};

/// Names and versions of the libraries that decode images.
std::vector<std::string> image_libraries();

}  // namespace lockstep
