#include "data/augment/registry.h"

namespace lockstep {

std::vector<std::unique_ptr<Augmentation>> make_augmentations(const AugmentOptions& options) {
  std::vector<std::unique_ptr<Augmentation>> made;
#define LOCKSTEP_ROW(function)        \
  if (auto one = function(options)) { \
    made.push_back(std::move(one));   \
  }
  LOCKSTEP_AUGMENTATIONS(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
  return made;
}

}  // namespace lockstep
