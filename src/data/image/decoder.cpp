#include "data/image/decoder.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

ImageSize ImageDecoder::open(std::span<const std::uint8_t> file) {
  ImageSize size;
  format_ = image_format(std::as_bytes(file));
  switch (format_) {
    case ImageFormat::jpeg:
      size = jpeg_.open(file);
      break;
    case ImageFormat::png:
      size = png_.open(file);
      break;
    case ImageFormat::webp:
      size = webp_.open(file);
      break;
    case ImageFormat::none:
      throw Error(Category::data, file.empty() ? "is empty" : "is not a JPEG, PNG or WebP file");
  }
  if (size.width < 1 || size.height < 1 || std::int64_t{size.width} * size.height > max_pixels) {
    throw Error(Category::data, fmt::format("an image of {}x{} pixels is too large: the maximum is {} pixels",
                                            size.width, size.height, max_pixels));
  }
  return size;
}

void ImageDecoder::decode(const Box& box, ImageSize min_size, int channels, ImagePart& part) {
  if (format_ == ImageFormat::jpeg) {
    jpeg_.decode(box, min_size, channels, part);
    return;
  }
  if (format_ == ImageFormat::png) {
    png_.decode(channels, part.image);
  } else {
    webp_.decode(channels, part.image);
  }
  part.box = box;
}

std::vector<std::string> image_libraries() { return {jpeg_library(), png_library(), webp_library()}; }

}  // namespace lockstep
