#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

/// What is known of a data set after reading all of it, as the network would see it.
struct DatasetStatistics {
  std::vector<double> mean;       ///< per channel, of pixel / 255 or of the numbers
  std::vector<double> deviation;  ///< population
  std::uint64_t read = 0;
  std::uint64_t bad = 0;
  int least_width = 0;  ///< of image files; extremes of different files
  int least_height = 0;
  int most_width = 0;
  int most_height = 0;
  double seconds = 0.0;  ///< CPU time of this thread for reading
};

/// Reads every sample on this thread; of training data with the augmentations of `input` (of epoch 0, seed
/// 0). `on_bad` is called with a line for each that cannot be read. Throws Error(data) when none can be.
DatasetStatistics measure_dataset(const Dataset& dataset, const InputOptions& input,
                                  const AugmentOptions& augment,
                                  const std::function<void(const std::string&)>& on_bad);

}  // namespace lockstep
