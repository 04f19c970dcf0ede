#include <algorithm>

#include "data/augment/registry.h"

namespace lockstep {
namespace {

/// Blackens a square around a uniformly random pixel, clipped to the image (DeVries, Taylor, "Improved
/// regularization of convolutional neural networks with cutout", 2017).
class Cutout : public Augmentation {
 public:
  explicit Cutout(int side) : side_(side) {}

  void apply(Planes image, const SampleVisit& /*visit*/, const PixelPlacement& placement,
             std::vector<std::uint8_t>& /*scratch*/) const override {
    const Shape& shape = image.shape;
    const int first_row = placement.cut_row, first_column = placement.cut_column;
    const int left = std::max(0, first_column);
    const int count = std::min(shape.width, first_column + side_) - left;
    for (int plane = 0; plane < shape.channels; ++plane) {
      for (int row = std::max(0, first_row); row < std::min(shape.height, first_row + side_); ++row) {
        std::fill_n(
            image.pixels + static_cast<std::ptrdiff_t>(plane * shape.height + row) * shape.width + left,
            std::max(0, count), std::uint8_t{0});
      }
    }
  }

 private:
  int side_;
};

}  // namespace

std::unique_ptr<Augmentation> make_cutout(const AugmentOptions& options) {
  return options.cutout == 0 ? nullptr : std::make_unique<Cutout>(options.cutout);
}

}  // namespace lockstep
