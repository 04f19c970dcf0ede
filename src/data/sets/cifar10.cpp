#include "data/sets/cifar.h"
#include "data/sets/registry.h"

namespace lockstep {

/// 32x32 colour images, 10 classes, 50,000 and 10,000 (Krizhevsky, 2009).
DatasetPair open_cifar10(const World& world, const DatasetOptions& options) {
  return open_cifar(world,
                    {.name = "cifar10",
                     .folder = "cifar-10-batches-bin",
                     .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                     "data_batch_4.bin", "data_batch_5.bin"},
                     .test_files = {"test_batch.bin"},
                     .label_bytes = 1,
                     .classes = 10,
                     .names_file = "batches.meta.txt"},
                    options.directory);
}

}  // namespace lockstep
