#pragma once

#include <string>

#include "lockstep/dataset.h"

/// All data sets: the name for --dataset and the function, defined in a file of this folder, that opens the
/// parts that its files have: the test part or the validation part may be missing (data/sets/parts.h).
#define LOCKSTEP_DATASETS(ENTRY)             \
  ENTRY("fashion-mnist", open_fashion_mnist) \
  ENTRY("mnist", open_mnist)                 \
  ENTRY("cifar10", open_cifar10)             \
  ENTRY("cifar100", open_cifar100)           \
  ENTRY("images", open_images)               \
  ENTRY("csv", open_csv)                     \
  ENTRY("synthetic", open_synthetic)

namespace lockstep {

#define LOCKSTEP_DECLARE(name, function) \
  DatasetPair function(const World& world, const DatasetOptions& options);
LOCKSTEP_DATASETS(LOCKSTEP_DECLARE)
#undef LOCKSTEP_DECLARE

}  // namespace lockstep
