#pragma once

#include <png.h>
#include <webp/encode.h>

#include <string>
#include <vector>

#include "core/random/philox.h"
#include "data/image/jpeg.h"
#include "support/temporary_folder.h"

namespace lockstep {

/// Image of waves whose length and direction depend on `seed`, as smooth as photographs.
inline Image test_image(int width, int height, std::uint32_t seed, int channels = 3) {
  Image image{width, height, channels, {}};
  const auto words = philox(seed, {0, 0, 0, 0});
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int slope = static_cast<int>(words[static_cast<std::size_t>(c)] % 5) + 1;
        const int phase = (slope * x + (6 - slope) * y) / 2 % 512;
        image.pixels.push_back(static_cast<std::uint8_t>(phase < 256 ? phase : 511 - phase));
      }
    }
  }
  return image;
}

inline std::string as_text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

inline std::string jpeg_file(int width, int height, std::uint32_t seed, int channels = 3) {
  return as_text(encode_jpeg(test_image(width, height, seed, channels), 90));
}

/// Writes 90 images into train/ and 20 into val/, each into folders "even" and "odd".
inline void write_even_odd_folders(const TemporaryFolder& folder) {
  for (const auto& [part, count] : {std::pair<std::string, int>("train", 90), {"val", 20}}) {
    for (int i = 0; i < count; ++i) {
      folder.write(part + (i % 2 == 0 ? "/even/" : "/odd/") + std::to_string(i) + ".jpg",
                   jpeg_file(40 + i % 9, 36, static_cast<std::uint32_t>(i)));
    }
  }
}

inline std::vector<std::uint8_t> encode_png(const std::vector<std::uint8_t>& pixels, int width, int height,
                                            png_uint_32 format) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(width);
  png.height = static_cast<png_uint_32>(height);
  png.format = format;
  png_alloc_size_t size = 0;
  png_image_write_get_memory_size(png, size, 0, pixels.data(), 0, nullptr);
  std::vector<std::uint8_t> file(size);
  png_image_write_to_memory(&png, file.data(), &size, 0, pixels.data(), 0, nullptr);
  file.resize(size);
  return file;
}

/// WebP file of a `quality` from 1 to 100; 0: lossless. The last of four channels is alpha, which is above 0
/// in all pixels; such files are lossless.
inline std::vector<std::uint8_t> encode_webp(const Image& image, float quality = 0.0F) {
  std::vector<std::uint8_t> rgb;
  for (const std::uint8_t value : image.pixels) {
    rgb.insert(rgb.end(), image.channels == 1 ? 3 : 1, value);
  }
  std::uint8_t* bytes = nullptr;
  const int width = image.width, height = image.height;
  const std::size_t size =
      image.channels == 4 ? WebPEncodeLosslessRGBA(rgb.data(), width, height, 4 * width, &bytes)
      : quality > 0.0F    ? WebPEncodeRGB(rgb.data(), width, height, 3 * width, quality, &bytes)
                          : WebPEncodeLosslessRGB(rgb.data(), width, height, 3 * width, &bytes);
  std::vector<std::uint8_t> file(bytes, bytes + size);
  WebPFree(bytes);
  return file;
}

}  // namespace lockstep
