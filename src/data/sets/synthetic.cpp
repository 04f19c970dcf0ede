#include <algorithm>
#include <array>

#include "core/random/philox.h"
#include "data/fingerprint.h"
#include "data/sets/registry.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

/// Images computed on request. A pixel is noise from 0 to 127, a random function of image and position, plus
/// 128 in the bright cells of a 4x4 grid per channel, which are a random function of the class.
class SyntheticDataset : public Dataset {
 public:
  SyntheticDataset(const DatasetOptions& options, std::uint64_t first, std::uint64_t size)
      : shape_(options.shape), classes_(options.classes), first_(first), size_(size) {}

  std::uint64_t size() const override { return size_; }
  Shape shape() const override { return shape_; }
  int classes() const override { return classes_; }
  int label(std::uint64_t id) const override {
    return static_cast<int>((first_ + id) % static_cast<std::uint64_t>(classes_));
  }

  std::string fingerprint() const override { return Fingerprint(*this).add(first_).text(); }

  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    buffer.resize(std::max(buffer.size(), shape_.size() + sizeof(Words)));
    for (std::size_t at = 0; at < shape_.size(); at += sizeof(Words)) {
      const Words words = philox(first_ + id, {purpose(), static_cast<std::uint32_t>(at), 0, 0});
      for (std::size_t i = 0; i < sizeof(Words); ++i) {
        buffer[at + i] = static_cast<std::uint8_t>((words[i / 4] >> (8 * (i % 4))) & 0x7f);
      }
    }
    brighten(label(id), buffer);
    return std::span(buffer).first(shape_.size());
  }

 private:
  using Words = std::array<std::uint32_t, 4>;
  static std::uint32_t purpose() { return static_cast<std::uint32_t>(Purpose::synthetic); }

  void brighten(int label, std::vector<std::uint8_t>& pixels) const {
    const Words bright = philox(static_cast<std::uint64_t>(label), {purpose(), 0, 1, 0});
    std::uint8_t* line = pixels.data();
    for (int channel = 0; channel < shape_.channels; ++channel) {
      for (int row = 0; row < shape_.height; ++row, line += shape_.width) {
        for (int cell = 0; cell < 4; ++cell) {
          const int part = row * 4 / shape_.height * 4 + cell + channel % 8 * 16;
          const std::uint32_t bit = bright[static_cast<std::size_t>(part / 32)] >> (part % 32) & 1U;
          const auto brighter = [bit](std::uint8_t pixel) {
            return static_cast<std::uint8_t>(pixel + 128 * bit);
          };
          std::transform(line + first_column(cell), line + first_column(cell + 1), line + first_column(cell),
                         brighter);
        }
      }
    }
  }

  /// First image column in column `cell` of the grid, i.e. with column * 4 / width = cell.
  int first_column(int cell) const { return (cell * shape_.width + 3) / 4; }

  Shape shape_;
  int classes_;
  std::uint64_t first_;
  std::uint64_t size_;
};

}  // namespace

/// Synthetic images of any shape, without files, for measurements and tests.
DatasetPair open_synthetic(const World& /*world*/, const DatasetOptions& options, DataUse /*use*/) {
  DatasetPair pair;
  pair.train = std::make_unique<SyntheticDataset>(options, 0, options.samples);
  pair.test = std::make_unique<SyntheticDataset>(options, options.samples,
                                                 std::max<std::uint64_t>(1, options.samples / 5));
  return pair;
}

}  // namespace lockstep
