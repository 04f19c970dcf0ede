#pragma once

#include "data/cuda/gather.h"
#include "device/table.h"

namespace lockstep::cuda {

/// A data set in a device's memory.
class DeviceDataset {
 public:
  /// Bytes that `dataset` takes up in a device's memory.
  static std::size_t bytes(const Dataset& dataset);
  /// Copies `dataset`, whose samples must not be image files. Throws Error(resource) when memory is short,
  /// and Error(data) for a sample that cannot be read, because samples in device memory cannot be skipped.
  DeviceDataset(Device& device, const Dataset& dataset);

  SampleArray array() const {
    return {.samples = samples_.data(),
            .sample_bytes = sample_bytes_,
            .labels = labels_.data(),
            .targets = targets_.data()};
  }

 private:
  std::size_t sample_bytes_;
  Buffer samples_;
  Table<std::int32_t> labels_;
  Table<float> targets_;
};

}  // namespace lockstep::cuda
