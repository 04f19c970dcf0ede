#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/augment/draws.h"
#include "data/augment/placement.h"
#include "lockstep/input.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Pixels of an image, [channel][row][column].
struct Planes {
  std::uint8_t* pixels = nullptr;
  Shape shape;
};

/// A random change of training images. Immutable: safe from any thread.
class Augmentation {
 public:
  virtual ~Augmentation() = default;
  /// Changes `image` in place. `placement`: drawn for this visit. `scratch`: memory of the executor, which
  /// only grows.
  virtual void apply(Planes image, const SampleVisit& visit, const PixelPlacement& placement,
                     std::vector<std::uint8_t>& scratch) const = 0;
};

/// Makes the augmentations of `options`, in the order of the registry. Throws Error(usage) for impossible
/// options.
std::vector<std::unique_ptr<Augmentation>> make_augmentations(const AugmentOptions& options);

}  // namespace lockstep
