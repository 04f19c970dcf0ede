#include "data/sets/cifar.h"
#include "data/sets/registry.h"

namespace lockstep {

/// 32x32 colour images, 100 classes ("fine" labels), 50,000 and 10,000 (Krizhevsky, 2009).
DatasetPair open_cifar100(const World& world, const DatasetOptions& options) {
  return open_cifar(world,
                    {.name = "cifar100",
                     .folder = "cifar-100-binary",
                     .train_files = {"train.bin"},
                     .test_files = {"test.bin"},
                     .label_bytes = 2,
                     .classes = 100,
                     .names_file = "fine_label_names.txt"},
                    options.directory);
}

}  // namespace lockstep
