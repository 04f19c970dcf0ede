#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "core/step_state.h"
#include "data/cuda/device_dataset.h"
#include "data/feed/loader.h"
#include "lockstep/sampler.h"
#include "ops/cuda/cuda_plan.h"

namespace lockstep::cuda {

/// Brings the micro-batches of a loader to a GPU. The same bits, whichever it is.
class Feed {
 public:
  virtual ~Feed() = default;
  /// As LeafRunner::expect.
  virtual void expect(std::span<const SampleRange> /*coming*/) {}
  /// Records what brings leaf `leaf` of the loader's step there, and writes its images as the plan reads
  /// them. Returns the leaf, in memory that it has until the next one is loaded.
  virtual MicroBatch load(Stream& stream, std::uint32_t leaf, void* images) = 0;
  /// Seconds that streams have waited for the host's threads so far.
  virtual double waited() const { return 0.0; }
  /// Samples of all leaves so far. Outside of recordings.
  virtual VisitSum visits() = 0;
};

/// What a feed is made of; all of it outlives the feed.
struct FeedOptions {
  Device& device;
  const CudaPlan& plan;
  const Loader& loader;
  int reader_threads = 1;  ///< of the host, where it reads the samples
};

/// Samples lie in the GPU's memory, which chooses, changes and normalises them by itself. `log`: the steps of
/// the loader, or nothing: one step that begins at the first sample.
std::unique_ptr<Feed> make_device_feed(const FeedOptions& options, const DeviceDataset& dataset, StepLog log);

/// Samples are read and changed by threads of the host, ahead of the GPU, which is brought a micro-batch when
/// it has finished the one before. Error(data) in that run when a sample cannot be read: what is recorded is
/// for all of a micro-batch.
std::unique_ptr<Feed> make_host_feed(const FeedOptions& options);

/// Data sets in the memory of one device, each once.
class DeviceDatasets {
 public:
  /// A data set of more than `most_bytes` stays with the host.
  DeviceDatasets(Device& device, std::size_t most_bytes) : device_(device), most_bytes_(most_bytes) {}

  /// The loader's, or null where the host has to feed it.
  const DeviceDataset* find(const Loader& loader);

 private:
  Device& device_;
  std::size_t most_bytes_;
  std::map<const Dataset*, std::unique_ptr<DeviceDataset>> datasets_;
};

}  // namespace lockstep::cuda
