#include "data/augment/randaugment_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/elementary.h"
#include "data/image/grey.h"

namespace lockstep {
namespace {

constexpr int fraction_bits = 16;

std::int64_t fixed_point(double value) {
  return static_cast<std::int64_t>(std::floor(value * (1 << fraction_bits) + 0.5));
}

std::size_t plane_size(const Shape& shape) {
  return static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
}

std::uint8_t blended(int value, int other, std::int64_t factor) {
  const std::int64_t scaled = (value - other) * factor + (std::int64_t{1} << (fraction_bits - 1));
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(other + (scaled >> fraction_bits), 0, 255));
}

/// Grey of pixel i: the luma of three channels, else the first channel.
int grey_of(const Planes& image, std::size_t i) {
  const std::size_t plane = plane_size(image.shape);
  if (image.shape.channels != 3) {
    return image.pixels[i];
  }
  return luma(image.pixels[i], image.pixels[plane + i], image.pixels[2 * plane + i]);
}

/// Replaces each value by its entry in `table`.
void look_up(std::uint8_t* pixels, std::size_t count, const std::array<std::uint8_t, 256>& table) {
  for (std::size_t i = 0; i < count; ++i) {
    pixels[i] = table[pixels[i]];
  }
}

template <class Function>
std::array<std::uint8_t, 256> table_of(const Function& function) {
  std::array<std::uint8_t, 256> table{};
  for (int value = 0; value < 256; ++value) {
    table[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(function(value));
  }
  return table;
}

int smoothed(const std::uint8_t* pixel, std::ptrdiff_t width) {
  int sum = 4 * pixel[0];
  for (const std::ptrdiff_t row : {-width, std::ptrdiff_t{0}, width}) {
    sum += pixel[row - 1] + pixel[row] + pixel[row + 1];
  }
  return (sum + 6) / 13;
}

}  // namespace

void affine(Planes image, const AffineMap& map, std::vector<std::uint8_t>& scratch) {
  const Shape& shape = image.shape;
  scratch.assign(image.pixels, image.pixels + shape.size());
  const std::size_t plane = plane_size(shape);
  std::uint8_t* target = image.pixels;
  for (int y = 0; y < shape.height; ++y) {
    std::int64_t x_in = fixed_point(map.a * 0.5 + map.b * (y + 0.5) + map.c);
    std::int64_t y_in = fixed_point(map.d * 0.5 + map.e * (y + 0.5) + map.f);
    for (int x = 0; x < shape.width; ++x, ++target, x_in += fixed_point(map.a), y_in += fixed_point(map.d)) {
      const std::int64_t column = x_in >> fraction_bits;
      const std::int64_t row = y_in >> fraction_bits;
      const bool inside = column >= 0 && column < shape.width && row >= 0 && row < shape.height;
      const auto from = static_cast<std::size_t>(inside ? row * shape.width + column : 0);
      for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
        target[c * plane] = inside ? scratch[c * plane + from] : std::uint8_t{0};
      }
    }
  }
}

AffineMap rotation(double degrees, Shape shape) {
  const double sine = sine_of_degrees(degrees);
  const double cosine = cosine_of_degrees(degrees);
  const double x = shape.width / 2.0;
  const double y = shape.height / 2.0;
  return {cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y};
}

void adjust_brightness(Planes image, double factor) {
  const std::int64_t fixed = fixed_point(factor);
  look_up(image.pixels, image.shape.size(), table_of([&](int value) { return blended(value, 0, fixed); }));
}

void adjust_color(Planes image, double factor) {
  const std::int64_t fixed = fixed_point(factor);
  const std::size_t plane = plane_size(image.shape);
  for (std::size_t i = 0; i < plane; ++i) {
    const int grey = grey_of(image, i);
    for (std::size_t at = i; at < image.shape.size(); at += plane) {
      image.pixels[at] = blended(image.pixels[at], grey, fixed);
    }
  }
}

void adjust_contrast(Planes image, double factor) {
  const std::int64_t fixed = fixed_point(factor);
  const std::size_t plane = plane_size(image.shape);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < plane; ++i) {
    sum += static_cast<std::uint64_t>(grey_of(image, i));
  }
  const int mean = static_cast<int>((sum + plane / 2) / plane);
  look_up(image.pixels, image.shape.size(), table_of([&](int value) { return blended(value, mean, fixed); }));
}

void adjust_sharpness(Planes image, double factor, std::vector<std::uint8_t>& scratch) {
  const std::int64_t fixed = fixed_point(factor);
  const Shape& shape = image.shape;
  scratch.assign(image.pixels, image.pixels + shape.size());
  for (int plane = 0; plane < shape.channels; ++plane) {
    for (int row = 1; row + 1 < shape.height; ++row) {
      const auto first =
          static_cast<std::size_t>(plane * shape.height + row) * static_cast<std::size_t>(shape.width);
      for (std::size_t at = first + 1; at + 1 < first + static_cast<std::size_t>(shape.width); ++at) {
        image.pixels[at] = blended(scratch[at], smoothed(scratch.data() + at, shape.width), fixed);
      }
    }
  }
}

void posterize(Planes image, int bits) {
  look_up(image.pixels, image.shape.size(),
          table_of([&](int value) { return value & (0xff << (8 - bits)) & 0xff; }));
}

void solarize(Planes image, double threshold) {
  look_up(image.pixels, image.shape.size(),
          table_of([&](int value) { return value >= threshold ? 255 - value : value; }));
}

void autocontrast(Planes image) {
  const std::size_t plane = plane_size(image.shape);
  for (std::uint8_t* first = image.pixels; first < image.pixels + image.shape.size(); first += plane) {
    const auto [min, max] = std::minmax_element(first, first + plane);
    const int low = *min;
    const int range = *max - low;
    if (range > 0) {
      look_up(first, plane, table_of([&](int value) {
                return std::clamp((std::clamp(value - low, 0, range) * 510 + range) / (2 * range), 0, 255);
              }));
    }
  }
}

void equalize(Planes image) {
  const std::size_t plane = plane_size(image.shape);
  for (std::uint8_t* first = image.pixels; first < image.pixels + image.shape.size(); first += plane) {
    std::array<int, 256> histogram{};
    for (std::size_t i = 0; i < plane; ++i) {
      ++histogram[first[i]];
    }
    const int last = *std::find_if(histogram.rbegin(), histogram.rend(), [](int n) { return n > 0; });
    const int step = (static_cast<int>(plane) - last) / 255;
    if (step == 0) {
      continue;
    }
    std::array<std::uint8_t, 256> table{};
    int before = step / 2;
    for (std::size_t value = 0; value < 256; ++value) {
      table[value] = static_cast<std::uint8_t>(std::min(255, before / step));
      before += histogram[value];
    }
    look_up(first, plane, table);
  }
}

}  // namespace lockstep
