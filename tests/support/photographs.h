#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/random/philox.h"
#include "support/image_files.h"

namespace lockstep::test {

/// Draws one picture: bricks, pebbles or stripes with random colours, light, scale and noise, so that the
/// texture alone shows the class. Every number follows from the seed.
class Photograph {
 public:
  enum class Class { bricks, pebbles, stripes };

  Photograph(Class kind, std::uint32_t seed) : kind_(kind), seed_(seed) {
    image_.width = 100 + below(120);
    image_.height = 100 + below(120);
    image_.channels = 3;
    image_.pixels.resize(static_cast<std::size_t>(image_.width * image_.height) * 3);
    for (int c = 0; c < 3; ++c) {
      dark_[c] = 20.0 + 110.0 * number();
      bright_[c] = dark_[c] + 40.0 + 60.0 * number();
    }
    light_right_ = 0.6 * (number() - 0.5);
    light_down_ = 0.6 * (number() - 0.5);
    if (kind_ == Class::bricks) draw_bricks();
    if (kind_ == Class::pebbles) draw_pebbles();
    if (kind_ == Class::stripes) draw_stripes();
  }

  const Image& image() const { return image_; }

 private:
  double number() {
    if (used_ % 4 == 0) words_ = philox(seed_, {static_cast<std::uint32_t>(kind_), used_ / 4, 0, 0});
    return words_[used_++ % 4] * 0x1p-32;
  }
  int below(int limit) { return static_cast<int>(number() * limit); }

  /// Sets a pixel to the shade `level`, 0 to 1, with the light of the picture and noise.
  void set(int x, int y, double level) {
    const double light = 1.0 + light_right_ * x / image_.width + light_down_ * y / image_.height;
    const auto noise =
        philox(seed_, {1000U, static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 0});
    const std::size_t at =
        (static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.width) + static_cast<std::size_t>(x)) *
        3;
    for (std::size_t c = 0; c < 3; ++c) {
      const double value =
          (dark_[c] + (bright_[c] - dark_[c]) * level) * light + 20.0 * (noise[c] * 0x1p-32 - 0.5);
      image_.pixels[at + c] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
    }
  }

  template <class Level>
  void fill(const Level& level) {
    for (int y = 0; y < image_.height; ++y) {
      for (int x = 0; x < image_.width; ++x) set(x, y, level(x, y));
    }
  }

  void draw_bricks() {
    const int height = 16 + below(16), width = 2 * height + below(height), shift = below(width);
    const double slope = 0.3 * (number() - 0.5);
    fill([&](int x, int y) {
      const int row = static_cast<int>(y + slope * x + 1000.0) / height;
      const int down = static_cast<int>(y + slope * x + 1000.0) % height;
      const int along = (x + shift + (row % 2) * width / 2) % width,
                brick = (x + shift + (row % 2) * width / 2) / width;
      if (down < 3 || along < 3) return 0.0;
      const auto shade =
          philox(seed_, {2000U, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(brick), 0});
      return 0.5 + 0.5 * (shade[0] * 0x1p-32);
    });
  }

  void draw_pebbles() {
    fill([](int, int) { return 0.0; });
    const int largest = 10 + below(10), count = image_.width * image_.height / (2 * largest * largest);
    for (int i = 0; i < count; ++i) {
      const int radius = largest / 2 + below(largest / 2 + 1), left = below(image_.width),
                top = below(image_.height);
      const double shade = 0.4 + 0.4 * number();
      for (int y = std::max(0, top - radius); y < std::min(image_.height, top + radius); ++y) {
        for (int x = std::max(0, left - radius); x < std::min(image_.width, left + radius); ++x) {
          const double distance = ((x - left) * (x - left) + (y - top) * (y - top)) / double(radius * radius);
          if (distance < 1.0) set(x, y, shade + 0.2 - 0.4 * distance);
        }
      }
    }
  }

  void draw_stripes() {
    const double length = 12.0 + 14.0 * number(), right = number() - 0.5, down = number() - 0.5;
    const double norm = std::sqrt(right * right + down * down) + 1e-3;
    fill([&](int x, int y) {
      const double phase = (right * x + down * y) / norm / length + 1000.0;
      return std::abs(2.0 * (phase - std::floor(phase)) - 1.0);
    });
  }

  Class kind_;
  std::uint32_t seed_;
  Image image_{};
  std::array<double, 3> dark_{}, bright_{};
  double light_right_ = 0.0, light_down_ = 0.0;
  std::array<std::uint32_t, 4> words_{};
  std::uint32_t used_ = 0;
};

/// Writes 300 photographs of three classes into folders named after the classes in `folder`: 160, 90 and 50.
/// Two more files are broken: bricks/truncated.jpg and pebbles/text.jpg.
inline void write_photographs(const TemporaryFolder& home, const std::string& folder) {
  const auto write = [&](const std::string& name, const std::string& bytes) {
    home.write(folder + "/" + name, bytes);
  };
  struct Part {
    Photograph::Class kind;
    const char* name;
    std::uint32_t count;
  };
  for (const auto& [kind, name, count] : {Part{Photograph::Class::bricks, "bricks", 160},
                                          {Photograph::Class::pebbles, "pebbles", 90},
                                          {Photograph::Class::stripes, "stripes", 50}}) {
    for (std::uint32_t i = 0; i < count; ++i) {
      write(std::string(name) + "/" + std::to_string(1000 + i) + ".jpg",
            as_text(encode_jpeg(Photograph(kind, i).image(), 85)));
    }
  }
  write("bricks/truncated.jpg",
        as_text(encode_jpeg(Photograph(Photograph::Class::bricks, 0).image(), 85)).substr(0, 100));
  write("pebbles/text.jpg", "not an image\n");
}

}  // namespace lockstep::test
