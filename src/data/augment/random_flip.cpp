#include <algorithm>

#include "data/augment/registry.h"

namespace lockstep {
namespace {

class RandomFlip : public Augmentation {
 public:
  explicit RandomFlip(double probability) : probability_(probability) {}

  void apply(Planes image, const SampleVisit& visit, std::vector<std::uint8_t>& /*scratch*/) const override {
    if (Draws(visit, Purpose::flip).uniform() >= probability_) {
      return;
    }
    for (int row = 0; row < image.shape.channels * image.shape.height; ++row) {
      std::uint8_t* first = image.pixels + static_cast<std::ptrdiff_t>(row) * image.shape.width;
      std::reverse(first, first + image.shape.width);
    }
  }

 private:
  double probability_;
};

}  // namespace

std::unique_ptr<Augmentation> make_random_flip(const AugmentOptions& options, Shape /*shape*/) {
  return options.hflip > 0.0 ? std::make_unique<RandomFlip>(options.hflip) : nullptr;
}

}  // namespace lockstep
