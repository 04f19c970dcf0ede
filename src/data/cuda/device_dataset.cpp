#include "data/cuda/device_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/feed/target.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

std::size_t sample_bytes(const Dataset& dataset) {
  return dataset.shape().size() * (dataset.encoding() == Encoding::floats ? sizeof(float) : 1);
}

/// Copies all samples to device memory `to` through a staging buffer from allocate_host.
void copy_samples(Device& device, const Dataset& dataset, std::byte* to) {
  constexpr std::size_t stage_bytes = std::size_t{8} << 20;
  const std::size_t each = sample_bytes(dataset);
  const std::size_t at_once = std::max<std::size_t>(1, stage_bytes / each);
  const Buffer stage = device.allocate_host(std::min<std::size_t>(at_once, dataset.size()) * each);
  std::vector<std::uint8_t> scratch;
  for (std::uint64_t first = 0; first < dataset.size(); first += at_once) {
    const std::size_t count = std::min<std::size_t>(at_once, dataset.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const std::uint8_t> sample = dataset.sample(first + i, scratch);
      if (sample.size() != each) {
        throw Error(Category::data, fmt::format("{}: {} bytes, {} were expected",
                                                dataset.sample_name(first + i), sample.size(), each));
      }
      std::ranges::copy(std::as_bytes(sample), stage.data() + i * each);
    }
    device.copy(to + first * each, stage.data(), count * each);
  }
}

}  // namespace

bool runs_on_device(const Dataset& dataset, const AugmentOptions& augment) {
  AugmentOptions others = augment;  // augmentations that gather_images() does not apply
  others.crop_padding = 0;
  others.hflip = 0.0;
  others.cutout = 0;
  others.mixup = 0.0;
  return dataset.encoding() != Encoding::image_file && others == AugmentOptions{};
}

std::size_t DeviceDataset::bytes(const Dataset& dataset) {
  return dataset.size() *
         (sample_bytes(dataset) + sizeof(std::int32_t) + target_count(dataset) * sizeof(float));
}

DeviceDataset::DeviceDataset(Device& device, const Dataset& dataset)
    : sample_bytes_(sample_bytes(dataset)),
      samples_(device.allocate(dataset.size() * sample_bytes_)),
      labels_(device, std::span<const std::int32_t>(labels_of(dataset))),
      targets_(device, std::span<const float>(targets_of(dataset))) {
  copy_samples(device, dataset, samples_.data());
}

}  // namespace lockstep::cuda
