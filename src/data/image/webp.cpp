#include "data/image/webp.h"

#include <fmt/format.h>
#include <webp/decode.h>

#include <algorithm>

#include "data/image/grey.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

const char* reason_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "not enough memory";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file is cut off";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it needs a feature that libwebp lacks";
    default:
      return "the file is damaged";
  }
}

void check_webp(VP8StatusCode status) {
  if (status == VP8_STATUS_OK) return;
  throw Error(status == VP8_STATUS_OUT_OF_MEMORY ? Category::resource : Category::data,
              fmt::format("is not a readable WebP image: {}", reason_of(status)));
}

}  // namespace

ImageSize WebpDecoder::open(std::span<const std::uint8_t> file) {
  WebPBitstreamFeatures features{};
  check_webp(WebPGetFeatures(file.data(), file.size(), &features));
  if (features.has_animation != 0) {
    throw Error(Category::data, "is an animated WebP image: only those of one image can be read");
  }
  file_ = file;
  size_ = {features.width, features.height};
  return size_;
}

void WebpDecoder::decode(int channels, Image& image) {
  const std::size_t count = static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height);
  image.set_size(size_.width, size_.height, channels);
  if (channels == 1) rgb_.resize(std::max(rgb_.size(), 3 * count));
  std::vector<std::uint8_t>& rgb = channels == 1 ? rgb_ : image.pixels;

  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    throw Error(Category::internal, "libwebp is of another version than its header");
  }
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = rgb.data(), .stride = 3 * size_.width, .size = rgb.size()};
  const VP8StatusCode status = WebPDecode(file_.data(), file_.size(), &config);
  WebPFreeDecBuffer(&config.output);
  check_webp(status);
  if (channels == 1) rgb_to_grey(rgb.data(), count, image.pixels.data());
}

std::string webp_library() {
  const int number = WebPGetDecoderVersion();
  return fmt::format("libwebp {}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
}

}  // namespace lockstep
