#include "data/sets/idx_dataset.h"
#include "data/sets/registry.h"

namespace lockstep {

/// 28x28 grey images of handwritten digits, 60,000 for training and 10,000 for testing (LeCun, Cortes,
/// Burges).
DatasetPair open_mnist(const World& world, const DatasetOptions& options, DataUse /*use*/) {
  return open_idx_datasets(world,
                           {.name = "mnist",
                            .shape = {.channels = 1, .height = 28, .width = 28},
                            .classes = 10,
                            .default_directory = "",
                            .advice = "name the folder of its four files"},
                           options.directory);
}

/// 28x28 grey images of clothes in 10 classes, 60,000 for training and 10,000 for testing (Xiao, Rasul,
/// Vollgraf, 2017).
DatasetPair open_fashion_mnist(const World& world, const DatasetOptions& options, DataUse /*use*/) {
  return open_idx_datasets(
      world,
      {.name = "fashion-mnist",
       .shape = {.channels = 1, .height = 28, .width = 28},
       .classes = 10,
       .default_directory = "/usr/share/datasets/fashion-mnist",
       .advice = "install Debian's package dataset-fashion-mnist, or name the folder of its files",
       .class_names = {"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
                       "ankle boot"}},
      options.directory);
}

}  // namespace lockstep
