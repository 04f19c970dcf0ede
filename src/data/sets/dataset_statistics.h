#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

/// Statistics over all samples of a data set, prepared as for the network.
struct DatasetStatistics {
  std::vector<double> mean;       ///< [channel], of pixel / 255 or of the numbers
  std::vector<double> deviation;  ///< [channel], population standard deviation
  std::uint64_t read = 0;         ///< number of samples that were read
  std::uint64_t bad = 0;          ///< number of samples that could not be read
  int min_width = 0;              ///< of image files, each over all files; 0: no image files
  int min_height = 0;
  int max_width = 0;
  int max_height = 0;
  double seconds = 0.0;  ///< CPU time for reading
};

/// Reads every sample on this thread, with augmentations of epoch 0 and seed 0. Calls `on_bad` with a line
/// for each sample that cannot be read. Throws Error(data) when none can be read.
DatasetStatistics measure_dataset(const Dataset& dataset, const InputOptions& input,
                                  const AugmentOptions& augment,
                                  const std::function<void(const std::string&)>& on_bad);

}  // namespace lockstep
