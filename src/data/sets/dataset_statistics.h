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
  std::vector<double> mean;       ///< [channel], mean of pixel / 255 or of the numbers
  std::vector<double> deviation;  ///< [channel], population standard deviation
};

/// Statistics over all samples of a data set, prepared as for the network.
struct DatasetStatistics {
  ChannelStatistics channels;
  std::uint64_t read = 0;  ///< number of samples that were read
  std::uint64_t bad = 0;   ///< number of samples that could not be read
  int min_width = 0;       ///< extreme sizes over all image files; 0: no image files
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

/// Statistics over all images of a data set or, if there are more than 512, over 512 of them, chosen by the
/// size of the data set only. Images are prepared without augmentation; images that cannot be read are left
/// out. Each rank reads a part; sums of pixels are exact, so the result does not depend on the number of
/// ranks. Collective. Throws Error(data) on all ranks if no image can be read.
ChannelStatistics measure_some_images(const World& world, const Dataset& dataset, double crop_share);

}  // namespace lockstep
