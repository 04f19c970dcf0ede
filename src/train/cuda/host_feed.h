#pragma once

#include <vector>

#include "data/batch_reader.h"
#include "data/loader.h"
#include "device/device.h"
#include "ops/cuda/cuda_plan.h"

namespace lockstep::cuda {

/// Brings micro-batches that the host reads into a plan's workspace: for samples that are files, or changed
/// in ways that only the host knows. Each one interrupts the GPU's work.
class HostFeed {
 public:
  HostFeed(Device& device, const CudaPlan& plan, const Loader& loader);

  /// Inside of enqueued work: gives to `stream` what brings leaf `leaf` of the loader's step to `inputs`. In
  /// each run, throws Error(data) when one of its samples cannot be read: a graph is made for a number of
  /// samples.
  void load(Stream& stream, std::uint32_t leaf, const CudaPlan::Inputs& inputs);

  const VisitSum& visits() const { return visits_; }

 private:
  void read(std::uint32_t leaf);
  template <class Value>
  void write_images(const Batch& batch);
  float value(const Batch& batch, std::size_t sample, std::size_t source, int channel) const;

  Device& device_;
  const Loader& loader_;
  Type type_;
  Shape target_;
  BatchReader reader_;
  std::vector<std::uint64_t> ids_;
  VisitSum visits_;
  Buffer images_, labels_, other_labels_, shares_, sample_ids_, random_;  ///< of the host
};

}  // namespace lockstep::cuda
