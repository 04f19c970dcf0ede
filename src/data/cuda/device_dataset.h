#pragma once

#include "data/cuda/gather.h"
#include "device/table.h"

namespace lockstep::cuda {

/// A data set in a device's memory.
class DeviceDataset {
 public:
  /// What it takes up there.
  static std::size_t bytes(const Dataset& dataset);
  /// Copies it; its samples are not files. Throws Error(resource) when memory is short, and Error(data) for a
  /// sample that cannot be read: the device has no way to leave it out.
  DeviceDataset(Device& device, const Dataset& dataset);

  SampleArray samples() const;
  const std::int32_t* labels() const { return labels_.data(); }

 private:
  Encoding encoding_;
  Shape shape_;
  Buffer samples_;
  Table<std::int32_t> labels_;
};

}  // namespace lockstep::cuda
