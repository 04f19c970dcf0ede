#pragma once

#include <string>

#include "data/sets/parts.h"
#include "lockstep/dataset.h"

/// All data sets: the name for --dataset, and the function that opens the parts for which there are files
/// (data/sets/parts.h), defined in a file of this folder. For training, the function opens at least a test or
/// a validation part.
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
  DatasetPair function(const World& world, const DatasetOptions& options, DataUse use);
LOCKSTEP_DATASETS(LOCKSTEP_DECLARE)
#undef LOCKSTEP_DECLARE

/// Opens the parts of a data set like open_dataset. For measuring, the test part may be missing. Collective.
DatasetPair open_parts(const World& world, const DatasetOptions& options, DataUse use);

}  // namespace lockstep
