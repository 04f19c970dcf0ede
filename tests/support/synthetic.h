#pragma once

#include <functional>
#include <vector>

#include "core/random/philox.h"
#include "lockstep/dataset.h"
#include "lockstep/world.h"

namespace lockstep::test {

/// The only World of a test program, as MPI starts once per process.
inline World& world() {
  static World the_world(nullptr, nullptr);
  return the_world;
}

/// Images of noise with a bright square whose row is the class: easy to learn.
class Synthetic : public Dataset {
 public:
  /// Changes the bytes of a sample whenever it is read, or throws.
  std::function<void(std::uint64_t id, std::vector<std::uint8_t>& bytes)> change;
  Encoding kind = Encoding::pixels;

  Synthetic(std::uint64_t size, Shape shape, int classes) : shape_(shape), classes_(classes) {
    for (std::uint64_t id = 0; id < size; ++id) {
      labels_.push_back(static_cast<int>(id * 7 % static_cast<std::uint64_t>(classes)));
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto bits = philox(id, {static_cast<std::uint32_t>(i), 0, 0, 99});
        const auto row = static_cast<int>(i) / shape.width % shape.height;
        const bool bright = row * classes / shape.height == labels_.back();
        pixels_.push_back(static_cast<std::uint8_t>(bright ? 255 : bits[0] % 100));
      }
    }
  }
  std::uint64_t size() const override { return labels_.size(); }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  Encoding encoding() const override { return kind; }
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    const auto pixels = std::span(pixels_).subspan(id * shape_.size(), shape_.size());
    if (!change) return pixels;
    buffer.assign(pixels.begin(), pixels.end());
    change(id, buffer);
    return buffer;
  }
  int label(std::uint64_t id) const override { return labels_[id]; }

 private:
  Shape shape_;
  int classes_;
  std::vector<std::uint8_t> pixels_;
  std::vector<int> labels_;
};

}  // namespace lockstep::test
