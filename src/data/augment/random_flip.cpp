#include <algorithm>
#include <cstdint>
#include <cstring>

#include "data/augment/registry.h"

namespace lockstep {
namespace {

/// Reverses `count` bytes, eight at a time from both ends. (std::reverse would take 4 % of the time of a
/// 224x224 crop.)
void reverse(std::uint8_t* first, std::ptrdiff_t count) {
  std::uint8_t* last = first + count;
  for (; last - first >= 16; first += 8) {
    last -= 8;
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::memcpy(&left, first, 8);
    std::memcpy(&right, last, 8);
    left = __builtin_bswap64(left);
    right = __builtin_bswap64(right);
    std::memcpy(first, &right, 8);
    std::memcpy(last, &left, 8);
  }
  std::reverse(first, last);
}

class RandomFlip : public Augmentation {
 public:
  void apply(Planes image, const SampleVisit& /*visit*/, const PixelPlacement& placement,
             std::vector<std::uint8_t>& /*scratch*/) const override {
    if (!placement.flipped) return;
    for (int row = 0; row < image.shape.channels * image.shape.height; ++row) {
      reverse(image.pixels + static_cast<std::ptrdiff_t>(row) * image.shape.width, image.shape.width);
    }
  }
};

}  // namespace

std::unique_ptr<Augmentation> make_random_flip(const AugmentOptions& options) {
  return options.hflip > 0.0 ? std::make_unique<RandomFlip>() : nullptr;
}

}  // namespace lockstep
