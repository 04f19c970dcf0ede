#include <utility>

#include "data/feed/target.h"
#include "device/cuda/cuda_device.h"
#include "train/cuda/feed.h"
#include "train/cuda/image_tables.h"

namespace lockstep::cuda {
namespace {

class DeviceFeed final : public Feed {
 public:
  DeviceFeed(const FeedOptions& options, std::shared_ptr<const DeviceDataset> dataset, StepLog log)
      : options_(options),
        dataset_(std::move(dataset)),
        log_(log),
        images_(options),
        layout_(options.loader.micro_batch(), 0, options.loader.transform().mixes(),
                target_count(options.loader.dataset())),
        block_(options.device.allocate(layout_.bytes(0))),
        samples_(options.device.allocate(options.loader.micro_batch() * sizeof(const std::byte*))),
        placements_(options.device.allocate(options.loader.micro_batch() * sizeof(PixelPlacement))),
        visits_(options.device.allocate(sizeof(Wide))) {}

  MicroBatch load(Stream& stream, std::uint32_t leaf, void* images) override {
    MicroBatch batch = layout_.arrays(block_.data(), options_.loader.samples(leaf));
    batch.samples = samples_.as<const std::byte*>();
    choose_samples(handle_of(stream), {.rule = options_.loader.transform().rule(),
                                       .array = dataset_->array(),
                                       .log = log_,
                                       .full_size = options_.loader.micro_batch(),
                                       .leaf = leaf,
                                       .batch = batch,
                                       .placements = placements_.as<PixelPlacement>(),
                                       .visits = visits_.as<Wide>()});
    images_.gather(handle_of(stream), batch, placements_.as<PixelPlacement>(), images);
    return batch;
  }

  VisitSum visits() override {
    Wide words;
    options_.device.copy(&words, visits_.data(), sizeof words);
    return VisitSum::from_words({words.low, words.high});
  }

 private:
  FeedOptions options_;
  std::shared_ptr<const DeviceDataset> dataset_;
  StepLog log_;
  ImageTables images_;
  MicroBatchLayout layout_;
  Buffer block_, samples_, placements_, visits_;
};

}  // namespace

std::unique_ptr<Feed> make_device_feed(const FeedOptions& options,
                                       std::shared_ptr<const DeviceDataset> dataset, StepLog log) {
  return std::make_unique<DeviceFeed>(options, std::move(dataset), log);
}

std::shared_ptr<const DeviceDataset> DeviceDatasets::find(const Loader& loader) {
  const Dataset& dataset = loader.dataset();
  if (!runs_on_device(dataset, loader.transform().augment()) || DeviceDataset::bytes(dataset) > max_bytes_) {
    return nullptr;
  }
  std::weak_ptr<const DeviceDataset>& stored = datasets_[&dataset];
  std::shared_ptr<const DeviceDataset> found = stored.lock();
  if (found == nullptr) stored = found = std::make_shared<const DeviceDataset>(device_, dataset);
  return found;
}

}  // namespace lockstep::cuda
