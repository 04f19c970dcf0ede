#include "device/cuda/cuda_device.h"
#include "device/table.h"
#include "train/cuda/feed.h"
#include "train/cuda/image_tables.h"

namespace lockstep::cuda {
namespace {

/// For loaders that do not take part in the steps of a run.
struct FirstStep {
  explicit FirstStep(Device& device)
      : input(device, std::vector<StepInput>(1)), position(device, std::vector<std::uint32_t>(1)) {}
  Table<StepInput> input;
  Table<std::uint32_t> position;
};

class DeviceFeed final : public Feed {
 public:
  DeviceFeed(const FeedOptions& options, const DeviceDataset& dataset, StepLog log)
      : options_(options),
        dataset_(dataset),
        first_step_(options.device),
        log_(log),
        choice_(choice(options.loader, dataset, log.inputs != nullptr)),
        images_(options),
        placed_(options.device.allocate(options.loader.micro_batch() * sizeof(PlacedSample))),
        visits_(options.device.allocate(sizeof(Wide))) {
    if (log_.inputs == nullptr) log_ = {first_step_.input.data(), nullptr, first_step_.position.data()};
  }

  void load(Stream& stream, std::uint32_t leaf, const CudaPlan::Inputs& inputs) override {
    const StreamHandle handle = handle_of(stream);
    const std::uint32_t samples = options_.loader.samples(leaf);
    choose_samples(handle, choice_, log_, leaf, samples,
                   {.placed = placed_.as<PlacedSample>(),
                    .ids = inputs.ids,
                    .labels = inputs.labels,
                    .other_labels = inputs.other_labels,
                    .shares = inputs.shares,
                    .random = inputs.random,
                    .visits = visits_.as<Wide>()});
    images_.gather(handle, dataset_.samples(), samples, placed_.as<PlacedSample>(), inputs);
  }

  VisitSum visits() override {
    Wide words;
    options_.device.copy(&words, visits_.data(), sizeof words);
    return VisitSum::from_words({words.low, words.high});
  }

 private:
  static SampleChoice choice(const Loader& loader, const DeviceDataset& dataset, bool shuffled) {
    const AugmentOptions& augment = loader.transform().augment();
    return {.size = loader.dataset().size(),
            .micro_batch = loader.micro_batch(),
            .seed = loader.transform().seed(),
            .shuffled = shuffled,
            .labels = dataset.labels(),
            .shape = loader.dataset().shape(),
            .crop_padding = augment.crop_padding,
            .flip = augment.hflip,
            .cutout = augment.cutout,
            .mixup = augment.mixup};
  }

  FeedOptions options_;
  const DeviceDataset& dataset_;
  FirstStep first_step_;
  StepLog log_;
  SampleChoice choice_;
  ImageTables images_;
  Buffer placed_, visits_;
};

}  // namespace

std::unique_ptr<Feed> make_device_feed(const FeedOptions& options, const DeviceDataset& dataset,
                                       StepLog log) {
  return std::make_unique<DeviceFeed>(options, dataset, log);
}

const DeviceDataset* DeviceDatasets::find(const Loader& loader) {
  const Dataset& dataset = loader.dataset();
  if (!runs_on_device(dataset, loader.transform().augment()) || DeviceDataset::bytes(dataset) > most_bytes_) {
    return nullptr;
  }
  const auto [found, fresh] = datasets_.try_emplace(&dataset);
  if (fresh) found->second = std::make_unique<DeviceDataset>(device_, dataset);
  return found->second.get();
}

}  // namespace lockstep::cuda
