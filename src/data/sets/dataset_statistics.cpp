#include "data/sets/dataset_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/world/gather.h"
#include "core/clock.h"
#include "core/random/permutation.h"
#include "data/feed/sample_reader.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Sums over the values of each channel. Sums of pixels are whole numbers below 2^53, which are exact in any
/// order of addition.
class ChannelSums {
 public:
  explicit ChannelSums(const Dataset& dataset)
      : channels_(static_cast<std::size_t>(dataset.shape().channels)),
        plane_(dataset.shape().size() / channels_),
        floats_(dataset.encoding() == Encoding::floats),
        numbers_(1 + 2 * channels_) {}

  void add(const std::byte* sample) {
    numbers_[0] += 1.0;
    for (std::size_t c = 0; c < channels_; ++c) {
      double sum = 0.0, squares = 0.0;  // of this sample only: short sums have small rounding errors
      for (std::size_t i = c * plane_; i < (c + 1) * plane_; ++i) {
        const double value = floats_ ? static_cast<double>(reinterpret_cast<const float*>(sample)[i])
                                     : static_cast<double>(reinterpret_cast<const std::uint8_t*>(sample)[i]);
        sum += value;
        squares += value * value;
      }
      numbers_[1 + 2 * c] += sum;
      numbers_[2 + 2 * c] += squares;
    }
  }
  /// Replaces the sums by the totals over all ranks. Collective.
  void add_ranks(const World& world) {
    const std::vector<double> parts = gather(world, numbers_);
    std::ranges::fill(numbers_, 0.0);
    for (std::size_t i = 0; i < parts.size(); ++i) numbers_[i % numbers_.size()] += parts[i];
  }

  std::uint64_t samples() const { return static_cast<std::uint64_t>(numbers_[0]); }
  /// Statistics of pixel / 255, or of the numbers. At least one sample must have been added.
  ChannelStatistics statistics() const {
    const double count = static_cast<double>(plane_) * numbers_[0], unit = floats_ ? 1.0 : 255.0;
    ChannelStatistics found;
    for (std::size_t c = 0; c < channels_; ++c) {
      const double mean = numbers_[1 + 2 * c] / count;
      found.mean.push_back(mean / unit);
      found.deviation.push_back(std::sqrt(std::max(0.0, numbers_[2 + 2 * c] / count - mean * mean)) / unit);
    }
    return found;
  }

 private:
  std::size_t channels_;
  std::size_t plane_;
  bool floats_;
  std::vector<double> numbers_;  ///< number of samples; then sum and sum of squares of each channel
};

void add_size(std::span<const std::uint8_t> file, ImageDecoder& decoder, DatasetStatistics& found) {
  const ImageSize size = decoder.open(file);
  const bool first = found.max_width == 0;
  found.min_width = first ? size.width : std::min(found.min_width, size.width);
  found.min_height = first ? size.height : std::min(found.min_height, size.height);
  found.max_width = std::max(found.max_width, size.width);
  found.max_height = std::max(found.max_height, size.height);
}

}  // namespace

DatasetStatistics measure_dataset(const Dataset& dataset, const InputOptions& input,
                                  const AugmentOptions& augment,
                                  const std::function<void(const std::string&)>& on_bad) {
  const Transform transform(input, dataset, augment);
  SampleReader reader(dataset, transform);
  ImageDecoder decoder;
  DatasetStatistics found;
  ChannelSums sums(dataset);
  std::vector<float> place(dataset.shape().size());
  std::vector<std::uint8_t> buffer;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    try {
      const double start = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
      const std::byte* bytes = reader.read(transform.rule(), id, reinterpret_cast<std::byte*>(place.data()));
      found.seconds += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
      if (dataset.encoding() == Encoding::image_file) add_size(dataset.sample(id, buffer), decoder, found);
      sums.add(bytes);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      on_bad(error.what());
      ++found.bad;
    }
  }
  found.read = sums.samples();
  if (found.read == 0) {
    throw Error(Category::data, fmt::format("none of the {} samples can be read", dataset.size()));
  }
  found.channels = sums.statistics();
  return found;
}

ChannelStatistics measure_some_images(const World& world, const Dataset& dataset, double crop_share) {
  constexpr std::uint64_t enough = 512;
  const std::uint64_t count = std::min(enough, dataset.size());
  ChannelSums sums(dataset);
  world.agree([&] {
    const Transform transform({.crop_share = crop_share}, dataset);
    SampleReader reader(dataset, transform);
    const KeyedPermutation chosen = keyed_permutation(dataset.size(), 0, 0, Purpose::statistics);
    std::vector<float> place(dataset.shape().size());
    const auto first = static_cast<std::uint64_t>(world.rank()),
               step = static_cast<std::uint64_t>(world.size());
    for (std::uint64_t position = first; position < count; position += step) {
      try {
        sums.add(reader.read(transform.rule(), chosen(position), reinterpret_cast<std::byte*>(place.data())));
      } catch (const Error& error) {
        if (error.category() != Category::data) throw;  // training will report files that cannot be read
      }
    }
  });
  sums.add_ranks(world);
  world.agree([&] {
    if (sums.samples() > 0) return;
    throw Error(Category::data,
                fmt::format("none of the {} training images that were measured can be read", count));
  });
  return sums.statistics();
}

}  // namespace lockstep
