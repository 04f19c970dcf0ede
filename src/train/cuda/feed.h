#pragma once

#include <map>
#include <memory>
#include <span>

#include "core/step_state.h"
#include "data/cuda/device_dataset.h"
#include "data/feed/loader.h"
#include "lockstep/sampler.h"
#include "ops/cuda/cuda_plan.h"

namespace lockstep {
class Watch;
}

namespace lockstep::cuda {

/// Loads the micro-batches of a loader into GPU memory. All feeds produce the same bits.
class Feed {
 public:
  virtual ~Feed() = default;
  /// Same as LeafRunner::expect.
  virtual void expect(std::span<const SampleRange> /*coming*/) {}
  /// Records loading leaf `leaf` of the loader's step, with its images in the layout of the plan. Returns the
  /// leaf, whose arrays the next load overwrites.
  virtual MicroBatch load(Stream& stream, std::uint32_t leaf, void* images) = 0;
  /// Total seconds that streams have waited for samples.
  virtual double waited() const { return 0.0; }
  /// Visits of all leaves so far. Do not call while recording.
  virtual VisitSum visits() = 0;
  /// Same as LeafRunner::contents.
  virtual VisitSum contents() const { return {}; }
};

/// Arguments of a feed. The references must outlive it.
struct FeedOptions {
  Device& device;
  const CudaPlan& plan;
  const Loader& loader;
  int reader_threads = 1;  ///< threads of the host that read samples
  Watch* watch = nullptr;  ///< notified while this rank waits for samples, not for its GPU; null: no watchdog
};

/// Feed from a data set in GPU memory, where it keeps the data set. The GPU chooses, augments and normalises
/// the samples. `log`: the steps of the loader; empty: a single step that begins at the first sample.
std::unique_ptr<Feed> make_device_feed(const FeedOptions& options,
                                       std::shared_ptr<const DeviceDataset> dataset, StepLog log);

/// Feed from the host. Reader threads read and augment samples ahead of the GPU, and each micro-batch is
/// copied to the GPU while it computes the previous one. A run throws Error(data) if a sample cannot be read,
/// as whole micro-batches are recorded.
std::unique_ptr<Feed> make_host_feed(const FeedOptions& options);

/// Data sets in the memory of one device. Each is stored once, and only while a feed uses it: later, another
/// data set may have the same address.
class DeviceDatasets {
 public:
  /// Data sets of more than `max_bytes` stay on the host.
  DeviceDatasets(Device& device, std::size_t max_bytes) : device_(device), max_bytes_(max_bytes) {}

  /// Data set of the loader in device memory; null if the host must feed it.
  std::shared_ptr<const DeviceDataset> find(const Loader& loader);

 private:
  Device& device_;
  std::size_t max_bytes_;
  std::map<const Dataset*, std::weak_ptr<const DeviceDataset>> datasets_;
};

}  // namespace lockstep::cuda
