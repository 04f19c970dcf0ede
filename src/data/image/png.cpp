#include "data/image/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

struct PngDecoder::State {
  png_image image{};

  State() { image.version = PNG_IMAGE_VERSION; }
  ~State() { png_image_free(&image); }

  [[noreturn]] void fail() const {
    throw Error(Category::data, fmt::format("is not a readable PNG image: {}", image.message));
  }
};

PngDecoder::PngDecoder() = default;
PngDecoder::~PngDecoder() = default;

ImageSize PngDecoder::open(std::span<const std::uint8_t> file) {
  state_ = std::make_unique<State>();
  if (png_image_begin_read_from_memory(&state_->image, file.data(), file.size()) == 0) {
    state_->fail();
  }
  return {static_cast<int>(std::min<png_uint_32>(state_->image.width, 0x7fffffff)),
          static_cast<int>(std::min<png_uint_32>(state_->image.height, 0x7fffffff))};
}

void PngDecoder::decode(int channels, Image& image) {
  png_image& png = state_->image;
  const bool transparent = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  png.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if (transparent) png.format |= PNG_FORMAT_FLAG_ALPHA;
  image.width = static_cast<int>(png.width);
  image.height = static_cast<int>(png.height);
  image.channels = channels;
  image.pixels.resize(std::max<std::size_t>(image.pixels.size(), PNG_IMAGE_SIZE(png)));
  if (png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr) == 0) {
    state_->fail();
  }
  if (transparent) {
    const std::size_t count = std::size_t{png.width} * png.height;
    const auto kept = static_cast<std::size_t>(channels);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < kept; ++c) {
        image.pixels[i * kept + c] = image.pixels[i * (kept + 1) + c];
      }
    }
  }
}

std::string png_library() { return fmt::format("libpng {}", png_get_libpng_ver(nullptr)); }

}  // namespace lockstep
