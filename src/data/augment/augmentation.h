#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/augment/placement.h"
#include "lockstep/input.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Pixels of an image in the size that the network sees, [channel][row][column].
struct Planes {
  std::uint8_t* pixels = nullptr;
  Shape shape;
};

/// One random change of training images. Immutable, shared by all executors.
class Augmentation {
 public:
  virtual ~Augmentation() = default;
  /// Changes `image` in place. `placement`: drawn for this visit. `scratch` belongs to the executor and only
  /// grows.
  virtual void apply(Planes image, const SampleVisit& visit, const PixelPlacement& placement,
                     std::vector<std::uint8_t>& scratch) const = 0;
};

/// Those that `options` ask for, in the order of the registry. Throws Error(usage) for impossible ones.
std::vector<std::unique_ptr<Augmentation>> make_augmentations(const AugmentOptions& options);

}  // namespace lockstep
