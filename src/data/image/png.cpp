#include "data/image/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "data/image/grey.h"
#include "lockstep/error.h"

namespace lockstep {

/// State passed to libpng's callbacks. An error calls longjmp to the function that called libpng: no C++
/// object with a destructor may live in between.
struct PngSource {
  std::span<const std::uint8_t> left{};  ///< unread rest of the file
  std::jmp_buf jump{};
  char message[160]{};
};

namespace {

void jump_on_png_error(png_structp png, png_const_charp message) {
  auto* source = static_cast<PngSource*>(png_get_error_ptr(png));
  std::snprintf(source->message, sizeof source->message, "%s", message);
  std::longjmp(source->jump, 1);  // NOLINT(cert-err52-cpp): the only way out of libpng
}

void ignore_png_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void read_bytes(png_structp png, png_bytep bytes, png_size_t count) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->left.size()) png_error(png, "the file ends early");
  std::memcpy(bytes, source->left.data(), count);
  source->left = source->left.subspan(count);
}

}  // namespace

struct PngDecoder::State {
  PngSource source;
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, jump_on_png_error, ignore_png_warning);
  png_infop info = png_create_info_struct(png);

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }

  bool read_header() {
    if (setjmp(source.jump) != 0) return false;  // NOLINT(cert-err52-cpp): the only way out of libpng
    png_set_read_fn(png, &source, read_bytes);
    png_read_info(png, info);
    return true;
  }
  bool is_grey() const { return (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0; }

  /// Sets the output format to 8-bit channels with the stored values: chunks about colours are ignored, as in
  /// PIL and torchvision. `widen`: converts grey pixels to three channels.
  bool set_format(bool widen) {
    if (setjmp(source.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
    png_set_scale_16(png);
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_alpha(png);
    if (widen) png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return true;
  }
  bool read_rows(png_bytepp rows) {
    if (setjmp(source.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
    png_read_image(png, rows);
    return true;
  }
  void check(bool done) const {
    if (done) return;
    throw Error(Category::data, fmt::format("is not a readable PNG image: {}", source.message));
  }
};

PngDecoder::PngDecoder() = default;
PngDecoder::~PngDecoder() = default;

ImageSize PngDecoder::open(std::span<const std::uint8_t> file) {
  state_ = std::make_unique<State>();
  if (state_->info == nullptr) throw Error(Category::resource, "no memory to read a PNG image");
  state_->source.left = file;
  state_->check(state_->read_header());
  const auto size = [](png_uint_32 pixels) { return static_cast<int>(pixels); };  // libpng: below 2^31
  return {size(png_get_image_width(state_->png, state_->info)),
          size(png_get_image_height(state_->png, state_->info))};
}

void PngDecoder::decode(int channels, Image& image) {
  State& state = *state_;
  state.check(state.set_format(channels == 3));
  const bool converts = channels == 1 && !state.is_grey();
  const std::size_t width = png_get_image_width(state.png, state.info);
  const std::size_t height = png_get_image_height(state.png, state.info);
  const std::size_t row = png_get_rowbytes(state.png, state.info);  // one or three bytes for each pixel
  image.set_size(static_cast<int>(width), static_cast<int>(height), channels);
  image.pixels.resize(std::max(image.pixels.size(), row * height));
  std::vector<png_bytep> rows(height);
  for (std::size_t i = 0; i < height; ++i) rows[i] = image.pixels.data() + i * row;
  state.check(state.read_rows(rows.data()));
  if (converts) rgb_to_grey(image.pixels.data(), width * height, image.pixels.data());
}

std::string png_library() { return fmt::format("libpng {}", png_get_libpng_ver(nullptr)); }

}  // namespace lockstep
