#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/input.h"

namespace lockstep {

class World;

/// Statistics of the values of each channel.
struct ChannelStatistics {
  std::vector<double> mean;       ///< [channel], of pixel / 255 or of the numbers
  std::vector<double> deviation;  ///< [channel], population standard deviation
};

/// Statistics over all samples of a data set, prepared as for the network.
struct DatasetStatistics {
  ChannelStatistics channels;
  std::uint64_t read = 0;  ///< number of samples that were read
  std::uint64_t bad = 0;   ///< number of samples that could not be read
  int min_width = 0;       ///< of image files, each over all files; 0: no image files
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

/// Statistics over images, prepared without augmentation: all of a data set, or 512 that depend on its size
/// only. Images that cannot be read are left out. Sums of pixels are exact, so the result is the same on any
/// number of ranks, each of which reads a part. Collective. Throws on all ranks Error(data) if none can be
/// read.
ChannelStatistics measure_some_images(const World& world, const Dataset& dataset, double crop_share);

}  // namespace lockstep
