#include "train/cuda/host_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/cuda/bfloat16.h"
#include "lockstep/error.h"

namespace lockstep::cuda {

HostFeed::HostFeed(Device& device, const CudaPlan& plan, const Loader& loader)
    : device_(device),
      loader_(loader),
      type_(plan.type()),
      target_(plan.image_shape()),
      reader_(loader.dataset(), loader.transform(), loader.bad_samples(), loader.micro_batch()),
      ids_(loader.micro_batch()) {
  const std::size_t samples = loader.micro_batch();
  const auto pixels = static_cast<std::size_t>(target_.height) * static_cast<std::size_t>(target_.width);
  const auto channels = static_cast<std::size_t>(padded_channels(target_.channels));
  images_ = device.allocate_host(samples * pixels * channels * bytes_of(type_));
  labels_ = device.allocate_host(samples * sizeof(std::int32_t));
  other_labels_ = device.allocate_host(samples * sizeof(std::int32_t));
  shares_ = device.allocate_host(samples * sizeof(float));
  sample_ids_ = device.allocate_host(samples * sizeof(std::uint64_t));
  random_ = device.allocate_host(sizeof(RandomKey));
}

void HostFeed::load(Stream& stream, std::uint32_t leaf, const CudaPlan::Inputs& inputs) {
  stream.host([this, leaf] { read(leaf); });
  const auto bring = [&](void* to, const Buffer& from) {
    if (to != nullptr) device_.copy(stream, to, from.data(), from.bytes());
  };
  bring(inputs.images, images_);
  bring(inputs.labels, labels_);
  bring(inputs.other_labels, other_labels_);
  bring(inputs.shares, shares_);
  bring(inputs.ids, sample_ids_);
  bring(inputs.random, random_);
}

void HostFeed::read(std::uint32_t leaf) {
  const auto ids = std::span(ids_).first(loader_.samples(leaf));
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    ids[i] = loader_.id(leaf, i);
    visits_.add(ids[i]);
  }
  const Batch batch = reader_.read(ids, {.epoch = loader_.epoch(), .number = loader_.number(leaf)});
  if (batch.samples() != ids.size()) {
    throw Error(
        Category::data,
        fmt::format(
            "{} of the {} samples of a micro-batch cannot be read: a GPU's graphs are for all of them",
            ids.size() - batch.samples(), ids.size()));
  }
  type_ == Type::bf16 ? write_images<Bfloat16>(batch) : write_images<float>(batch);
  std::ranges::copy(batch.labels, labels_.as<std::int32_t>());
  std::ranges::copy(batch.other_labels, other_labels_.as<std::int32_t>());
  std::ranges::copy(batch.share, shares_.as<float>());
  std::ranges::copy(batch.ids, sample_ids_.as<std::uint64_t>());
  *random_.as<RandomKey>() = batch.random;
}

/// The channels that fill up to a multiple of 8 stay zeros.
template <class Value>
void HostFeed::write_images(const Batch& batch) {
  const Shape source = loader_.dataset().shape();
  const auto channels = static_cast<std::size_t>(padded_channels(target_.channels));
  Value* out = images_.as<Value>();
  for (std::size_t sample = 0; sample < batch.samples(); ++sample) {
    for (int row = 0; row < target_.height; ++row) {
      for (int column = 0; column < target_.width; ++column, out += channels) {
        for (int channel = 0; channel < target_.channels; ++channel) {
          const auto at = static_cast<std::size_t>((channel * source.height + row) * source.width + column);
          out[channel] = from_float<Value>(value(batch, sample, at, channel));
        }
      }
    }
  }
}

/// As Batch defines it, each step rounded once.
float HostFeed::value(const Batch& batch, std::size_t sample, std::size_t source, int channel) const {
  const auto normalized = [&](const auto& images, const auto& floats) {
    const float raw =
        images.empty() ? floats[sample][source] : static_cast<float>(images[sample][source]) / 255.0F;
    if (batch.mean.empty()) return raw;
    const auto c = static_cast<std::size_t>(channel);
    return (raw - batch.mean[c]) / batch.deviation[c];
  };
  const float own = normalized(batch.images, batch.floats);
  if (batch.share.empty()) return own;
  const float other = normalized(batch.other_images, batch.other_floats);
  return std::fma(batch.share[sample], own, (1.0F - batch.share[sample]) * other);
}

}  // namespace lockstep::cuda
