#include "data/image/jpeg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// jpeglib.h must be included after <cstdio>.
#include <jpeglib.h>
// jerror.h must be included after jpeglib.h: its codes depend on JPEG_LIB_VERSION (80 on Ubuntu).
#include <jerror.h>

#include "data/image/grey.h"
#include "lockstep/error.h"

namespace lockstep {

/// State of libjpeg's error handling. An error calls longjmp to the function that called libjpeg: no C++
/// object with a destructor may live in between.
struct JpegErrors {
  jpeg_error_mgr manager{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX]{};
};

namespace {

constexpr long max_jpeg_memory = 256L << 20;

void jump_on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->jump, 1);  // NOLINT(cert-err52-cpp): the only way out of libjpeg
}

/// Turns warnings about missing or invalid data, which libjpeg replaces by grey pixels, into errors. Warnings
/// about common oddities, such as bytes between two segments, are ignored.
void judge_warning(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_HIT_MARKER || code == JWRN_JPEG_EOF || code == JWRN_HUFF_BAD_CODE)) {
    jump_on_error(info);
  }
}

/// Limits the scans of a progressive image: each is a pass over the whole image, and a small file may have
/// thousands.
void limit_scans(j_common_ptr info) {
  constexpr int max_scans = 100;  // usually 10; encoders that try all scan divisions reach about 60
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= max_scans) return;
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->msg_code = 0;
  std::snprintf(errors->message, sizeof errors->message, "more than %d scans", max_scans);
  std::longjmp(errors->jump, 1);  // NOLINT(cert-err52-cpp): the only way out of libjpeg
}

jpeg_error_mgr* prepare(JpegErrors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jump_on_error;
  errors.manager.emit_message = judge_warning;
  return &errors.manager;
}

/// Adobe's CMYK is stored inverted: 255 is no ink.
void cmyk_to_rgb(const std::uint8_t* cmyk, int count, std::uint8_t* rgb) {
  for (int i = 0; i < count; ++i, cmyk += 4, rgb += 3) {
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<std::uint8_t>((cmyk[c] * cmyk[3] + 127) / 255);
    }
  }
}

}  // namespace

struct JpegDecoder::State {
  JpegErrors errors;
  jpeg_decompress_struct info{};
  std::vector<std::uint8_t> row;

  bool create() {
    info.err = prepare(errors);
    if (setjmp(errors.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
    jpeg_create_decompress(&info);
    // Progressive images are stored as coefficients, 3 to 8 bytes per pixel.
    info.mem->max_memory_to_use = max_jpeg_memory;
    errors.progress.progress_monitor = limit_scans;
    info.progress = &errors.progress;
    return true;
  }

  bool read_header(const std::uint8_t* bytes, std::size_t size) {
    if (setjmp(errors.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
    jpeg_abort_decompress(&info);
    jpeg_mem_src(&info, bytes, size);
    jpeg_read_header(&info, TRUE);
    return true;
  }

  /// Prepares to decode the rows from `top` on, at the chosen resolution, and at least `width` columns from
  /// `left` on. Sets `left` to the first decoded column and `width` to the number of decoded columns.
  bool start(unsigned& left, unsigned& width, unsigned top) {
    if (setjmp(errors.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
    jpeg_start_decompress(&info);
    jpeg_crop_scanline(&info, &left, &width);
    if (top > 0) jpeg_skip_scanlines(&info, top);
    return true;
  }

  bool read_row(std::uint8_t* place) {
    if (setjmp(errors.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
    jpeg_read_scanlines(&info, &place, 1);
    return true;
  }

  [[noreturn]] void fail() {
    if (info.err->msg_code == JERR_NO_BACKING_STORE) {
      throw Error(Category::data,
                  fmt::format("is not a readable JPEG image: it needs more than {} MB to decode",
                              max_jpeg_memory >> 20));
    }
    const bool memory = info.err->msg_code == JERR_OUT_OF_MEMORY;
    throw Error(memory ? Category::resource : Category::data,
                fmt::format("is not a readable JPEG image: {}", errors.message));
  }

  /// Reads one row as `channels` channels.
  void read_pixels(int channels, int width, std::uint8_t* place) {
    if (info.output_components == channels) {
      if (!read_row(place)) fail();
      return;
    }
    row.resize(std::max(row.size(), static_cast<std::size_t>(width) * 7));
    std::uint8_t* rgb = row.data() + static_cast<std::size_t>(width) * 4;
    if (!read_row(row.data())) fail();
    cmyk_to_rgb(row.data(), width, channels == 3 ? place : rgb);
    if (channels == 1) rgb_to_grey(rgb, static_cast<std::size_t>(width), place);
  }

  void choose_format(const Box& box, ImageSize min_size, int channels) {
    unsigned eighths = 1;
    while (eighths < 8 &&
           (box.width * eighths < 8.0 * min_size.width || box.height * eighths < 8.0 * min_size.height)) {
      eighths *= 2;
    }
    info.scale_num = eighths;
    info.scale_denom = 8;
    const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    info.out_color_space = cmyk ? JCS_CMYK : (channels == 3 ? JCS_RGB : JCS_GRAYSCALE);
  }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {
  if (!state_->create()) {
    throw Error(Category::internal, fmt::format("libjpeg does not start: {}", state_->errors.message));
  }
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&state_->info); }

ImageSize JpegDecoder::open(std::span<const std::uint8_t> file) {
  if (!state_->read_header(file.data(), file.size())) {
    state_->fail();
  }
  return {static_cast<int>(state_->info.image_width), static_cast<int>(state_->info.image_height)};
}

void JpegDecoder::decode(const Box& box, ImageSize min_size, int channels, ImagePart& part) {
  constexpr double margin = 8.0;  // columns at the edges of a decoded part lack neighbours
  jpeg_decompress_struct& info = state_->info;
  state_->choose_format(box, min_size, channels);
  const double scale = info.scale_num / 8.0;
  const auto width_all = std::ceil(info.image_width * scale);
  const auto height_all = std::ceil(info.image_height * scale);
  auto left = static_cast<unsigned>(std::max(0.0, std::floor(box.left * scale - margin)));
  const auto top = static_cast<unsigned>(std::max(0.0, std::floor(box.top * scale - margin)));
  const auto right = std::min(width_all, std::ceil((box.left + box.width) * scale + margin));
  const auto bottom = std::min(height_all, std::ceil((box.top + box.height) * scale + margin));
  unsigned width = static_cast<unsigned>(right) - left;
  if (!state_->start(left, width, top)) {
    state_->fail();
  }
  Image& image = part.image;
  image.set_size(static_cast<int>(width), static_cast<int>(bottom) - static_cast<int>(top), channels);
  const std::size_t row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  for (std::size_t row = 0; row < static_cast<std::size_t>(image.height); ++row) {
    state_->read_pixels(channels, image.width, image.pixels.data() + row * row_bytes);
  }
  part.box = {box.left * scale - left, box.top * scale - top, box.width * scale, box.height * scale};
}

std::string jpeg_library() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  constexpr int number = LIBJPEG_TURBO_VERSION_NUMBER;
  return fmt::format("libjpeg-turbo {}.{}.{}", number / 1000000, number / 1000 % 1000, number % 1000);
#else
  return fmt::format("libjpeg {}", JPEG_LIB_VERSION);
#endif
}

static_assert(largest_jpeg_side == JPEG_MAX_DIMENSION);

std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality) {
  JpegErrors errors;
  jpeg_compress_struct info{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  info.err = prepare(errors);
  if (setjmp(errors.jump) != 0) {  // NOLINT(cert-err52-cpp)
    jpeg_destroy_compress(&info);
    std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg's
    throw Error(Category::resource, fmt::format("cannot encode a JPEG image: {}", errors.message));
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = image.channels;
  info.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  const std::size_t row_bytes =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<std::uint8_t*>(image.pixels.data()) + info.next_scanline * row_bytes;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<std::uint8_t> file(bytes, bytes + size);
  std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg's
  return file;
}

}  // namespace lockstep
