#include "data/image/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::array<std::uint8_t, 3> jpeg_start = {0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> png_start = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

template <std::size_t count>
bool starts_with(std::span<const std::uint8_t> file, const std::array<std::uint8_t, count>& start) {
  return file.size() >= count && std::ranges::equal(file.first(count), start);
}

}  // namespace

ImageSize ImageDecoder::open(std::span<const std::uint8_t> file) {
  is_jpeg_ = starts_with(file, jpeg_start);
  if (!is_jpeg_ && !starts_with(file, png_start)) {
    throw Error(Category::data, file.empty() ? "is empty" : "is neither a JPEG nor a PNG file");
  }
  const ImageSize size = is_jpeg_ ? jpeg_.open(file) : png_.open(file);
  if (size.width < 1 || size.height < 1 || std::int64_t{size.width} * size.height > max_pixels) {
    throw Error(Category::data, fmt::format("an image of {}x{} pixels is too large: the maximum is {} pixels",
                                            size.width, size.height, max_pixels));
  }
  return size;
}

void ImageDecoder::decode(const Box& box, ImageSize min_size, int channels, ImagePart& part) {
  if (is_jpeg_) {
    jpeg_.decode(box, min_size, channels, part);
  } else {
    png_.decode(channels, part.image);
    part.box = box;
  }
}

}  // namespace lockstep
