#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/batch_reader.h"
#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"
#include "train/cuda/feed.h"
#include "train/cuda/image_tables.h"

namespace lockstep::cuda {
namespace {

/// The same memory of the host and of the device.
struct Staging {
  Staging(Device& device, std::size_t bytes)
      : host(device.allocate_host(bytes)), on_device(device.allocate(bytes)) {}
  Buffer host, on_device;
};

class HostFeed final : public Feed {
 public:
  explicit HostFeed(const FeedOptions& options)
      : options_(options),
        images_(options),
        floats_(options.loader.dataset().encoding() == Encoding::floats),
        sample_bytes_(options.loader.dataset().shape().size() * (floats_ ? sizeof(float) : 1)),
        reader_(options.loader.dataset(), options.loader.transform(), options.loader.bad_samples(),
                options.loader.micro_batch()),
        ids_(options.loader.micro_batch()),
        pixels_(options.device, ids_.size() * sample_bytes_),
        labels_(options.device.allocate_host(ids_.size() * sizeof(std::int32_t))),
        other_labels_(options.device.allocate_host(ids_.size() * sizeof(std::int32_t))),
        shares_(options.device.allocate_host(ids_.size() * sizeof(float))),
        sample_ids_(options.device.allocate_host(ids_.size() * sizeof(std::uint64_t))),
        random_(options.device.allocate_host(sizeof(RandomKey))) {}

  void load(std::uint32_t leaf, const CudaPlan::Inputs& inputs) override {
    const std::uint32_t samples = options_.loader.samples(leaf);
    options_.stream.host([this, leaf] { read(leaf); });
    bring(pixels_.on_device.data(), pixels_.host, samples * sample_bytes_);
    bring(inputs.labels, labels_, samples * sizeof(std::int32_t));
    bring(inputs.other_labels, other_labels_, samples * sizeof(std::int32_t));
    bring(inputs.shares, shares_, samples * sizeof(float));
    bring(inputs.ids, sample_ids_, samples * sizeof(std::uint64_t));
    bring(inputs.random, random_, sizeof(RandomKey));
    const SampleArray array{.pixels = floats_ ? nullptr : pixels_.on_device.as<std::uint8_t>(),
                            .floats = floats_ ? pixels_.on_device.as<float>() : nullptr,
                            .shape = options_.loader.dataset().shape()};
    images_.gather(handle_of(options_.stream), array, samples, nullptr, inputs);
  }

  VisitSum visits() override { return visits_; }

 private:
  void bring(void* to, const Buffer& from, std::size_t bytes) {
    if (to != nullptr) options_.device.copy(options_.stream, to, from.data(), bytes);
  }

  void read(std::uint32_t leaf) {
    const Loader& loader = options_.loader;
    const auto ids = std::span(ids_).first(loader.samples(leaf));
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      ids[i] = loader.id(leaf, i);
      visits_.add(ids[i]);
    }
    const Batch batch = reader_.read(ids, {.epoch = loader.epoch(), .number = loader.number(leaf)});
    if (batch.samples() != ids.size()) {
      throw Error(
          Category::data,
          fmt::format(
              "{} of the {} samples of a micro-batch cannot be read, and a GPU's step is recorded for "
              "all of them: take the bad files out of the data set",
              ids.size() - batch.samples(), ids.size()));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto* sample = floats_ ? reinterpret_cast<const std::byte*>(batch.floats[i])
                                   : reinterpret_cast<const std::byte*>(batch.images[i]);
      std::copy_n(sample, sample_bytes_, pixels_.host.data() + i * sample_bytes_);
    }
    std::ranges::copy(batch.labels, labels_.as<std::int32_t>());
    std::ranges::copy(batch.other_labels, other_labels_.as<std::int32_t>());
    std::ranges::copy(batch.share, shares_.as<float>());
    std::ranges::copy(batch.ids, sample_ids_.as<std::uint64_t>());
    *random_.as<RandomKey>() = batch.random;
  }

  FeedOptions options_;
  ImageTables images_;
  bool floats_;
  std::size_t sample_bytes_;
  BatchReader reader_;
  std::vector<std::uint64_t> ids_;
  Staging pixels_;
  Buffer labels_, other_labels_, shares_, sample_ids_, random_;  ///< of the host
  VisitSum visits_;
};

}  // namespace

std::unique_ptr<Feed> make_host_feed(const FeedOptions& options) {
  return std::make_unique<HostFeed>(options);
}

}  // namespace lockstep::cuda
