#include "data/image/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::array<std::uint8_t, 3> jpeg_start = {0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> png_start = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 4> riff_start = {'R', 'I', 'F', 'F'};  // then the size in 4 bytes
constexpr std::array<std::uint8_t, 4> webp_type = {'W', 'E', 'B', 'P'};

template <std::size_t count>
bool starts_with(std::span<const std::uint8_t> file, const std::array<std::uint8_t, count>& start) {
  return file.size() >= count && std::ranges::equal(file.first(count), start);
}

bool is_webp(std::span<const std::uint8_t> file) {
  return starts_with(file, riff_start) &&
         starts_with(file.subspan(std::min<std::size_t>(8, file.size())), webp_type);
}

}  // namespace

ImageSize ImageDecoder::open(std::span<const std::uint8_t> file) {
  ImageSize size;
  if (starts_with(file, jpeg_start)) {
    format_ = Format::jpeg;
    size = jpeg_.open(file);
  } else if (starts_with(file, png_start)) {
    format_ = Format::png;
    size = png_.open(file);
  } else if (is_webp(file)) {
    format_ = Format::webp;
    size = webp_.open(file);
  } else {
    throw Error(Category::data, file.empty() ? "is empty" : "is not a JPEG, PNG or WebP file");
  }
  if (size.width < 1 || size.height < 1 || std::int64_t{size.width} * size.height > max_pixels) {
    throw Error(Category::data, fmt::format("an image of {}x{} pixels is too large: the maximum is {} pixels",
                                            size.width, size.height, max_pixels));
  }
  return size;
}

void ImageDecoder::decode(const Box& box, ImageSize min_size, int channels, ImagePart& part) {
  if (format_ == Format::jpeg) {
    jpeg_.decode(box, min_size, channels, part);
    return;
  }
  if (format_ == Format::png) {
    png_.decode(channels, part.image);
  } else {
    webp_.decode(channels, part.image);
  }
  part.box = box;
}

std::vector<std::string> image_libraries() { return {jpeg_library(), png_library(), webp_library()}; }

}  // namespace lockstep
