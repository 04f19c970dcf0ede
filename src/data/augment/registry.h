#pragma once

#include "data/augment/augmentation.h"

/// Functions that make the augmentations, in the order in which they are applied. They return null if the
/// options do not include the augmentation; a file of this folder defines each.
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
