#include <algorithm>

#include "data/augment/registry.h"

namespace lockstep {
namespace {

/// Pads the image with a black border and cuts out a part of its original size at a uniformly random place: a
/// shift by up to the width of the border.
class RandomCrop : public Augmentation {
 public:
  void apply(Planes image, const SampleVisit& /*visit*/, const PixelPlacement& placement,
             std::vector<std::uint8_t>& scratch) const override {
    const int down = placement.down, right = placement.right;
    const Shape& shape = image.shape;
    scratch.assign(image.pixels, image.pixels + shape.size());
    std::fill_n(image.pixels, shape.size(), std::uint8_t{0});
    const int columns = shape.width - std::abs(right);
    for (int plane = 0; columns > 0 && plane < shape.channels; ++plane) {
      for (int row = std::max(0, -down); row < std::min(shape.height, shape.height - down); ++row) {
        const std::uint8_t* from =
            scratch.data() + static_cast<std::ptrdiff_t>(plane * shape.height + row + down) * shape.width +
            std::max(0, right);
        std::uint8_t* to = image.pixels +
                           static_cast<std::ptrdiff_t>(plane * shape.height + row) * shape.width +
                           std::max(0, -right);
        std::copy_n(from, columns, to);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Augmentation> make_random_crop(const AugmentOptions& options) {
  return options.crop_padding == 0 ? nullptr : std::make_unique<RandomCrop>();
}

}  // namespace lockstep
