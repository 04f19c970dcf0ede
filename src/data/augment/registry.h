#pragma once

#include "data/augment/augmentation.h"

/// The augmentations in the order in which they are applied: the function that makes one, or gives null where
/// the options do not ask for it, which is the one thing that its file defines.
#define LOCKSTEP_AUGMENTATIONS(ENTRY) \
  ENTRY(make_random_crop)             \
  ENTRY(make_random_flip)             \
  ENTRY(make_randaugment)             \
  ENTRY(make_cutout)

namespace lockstep {

#define LOCKSTEP_DECLARE(function) std::unique_ptr<Augmentation> function(const AugmentOptions& options);
LOCKSTEP_AUGMENTATIONS(LOCKSTEP_DECLARE)
#undef LOCKSTEP_DECLARE

}  // namespace lockstep
