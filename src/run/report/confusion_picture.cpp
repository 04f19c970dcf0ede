#include "run/report/confusion_picture.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "lockstep/error.h"
#include "run/report/class_metrics.h"

namespace lockstep {
namespace {

using Color = std::array<std::uint8_t, 3>;
constexpr Color color_of_none = {247, 251, 255}, color_of_all = {8, 48, 107},
                color_of_lines = {222, 226, 230};

Color color_of(double share) {
  Color color{};
  for (std::size_t i = 0; i < color.size(); ++i) {
    color[i] = static_cast<std::uint8_t>(
        std::lround(color_of_none[i] + share * (color_of_all[i] - color_of_none[i])));
  }
  return color;
}

std::string png_of(const std::vector<std::uint8_t>& pixels, int size) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = static_cast<png_uint_32>(size);
  image.format = PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t bytes = file.size();
  if (png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels.data(), 0, nullptr) == 0) {
    throw Error(Category::resource, fmt::format("libpng: {}", image.message));
  }
  file.resize(bytes);
  return file;
}

}  // namespace

ConfusionPicture confusion_picture(std::span<const std::uint64_t> confusion) {
  const std::size_t classes = classes_of(confusion);
  const std::size_t side = std::clamp<std::size_t>(400 / classes, 4, 40);  // of a square and its grid line
  const std::size_t size = classes * side + 1;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(size * size * 3);
  for (std::size_t y = 0; y < size; ++y) {
    const auto row = confusion.subspan(std::min(y / side, classes - 1) * classes, classes);
    const std::uint64_t samples = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
    for (std::size_t x = 0; x < size; ++x) {
      Color color = color_of_lines;
      if (x % side != 0 && y % side != 0) {
        const std::uint64_t count = row[x / side];
        color = color_of(samples == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(samples));
      }
      pixels.insert(pixels.end(), color.begin(), color.end());
    }
  }
  return {static_cast<int>(size), png_of(pixels, static_cast<int>(size))};
}

}  // namespace lockstep
