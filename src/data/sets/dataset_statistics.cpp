#include "data/sets/dataset_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "data/feed/sample_reader.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Sums over the values of one channel.
struct ChannelSums {
  double sum = 0.0;
  double squares = 0.0;
};

void add_sample(const std::uint8_t* bytes, bool floats, std::size_t plane,
                std::vector<ChannelSums>& channels) {
  for (std::size_t c = 0; c < channels.size(); ++c) {
    ChannelSums sums;  // of the sample alone: short sums have small rounding errors
    for (std::size_t i = c * plane; i < (c + 1) * plane; ++i) {
      const double value = floats ? static_cast<double>(reinterpret_cast<const float*>(bytes)[i])
                                  : static_cast<double>(bytes[i]) / 255.0;
      sums.sum += value;
      sums.squares += value * value;
    }
    channels[c].sum += sums.sum;
    channels[c].squares += sums.squares;
  }
}

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
  const Shape shape = dataset.shape();
  const auto plane = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  std::vector<ChannelSums> channels(static_cast<std::size_t>(shape.channels));
  std::vector<float> place(shape.size());
  std::vector<std::uint8_t> buffer;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    try {
      const double start = thread_seconds();
      const std::byte* bytes = reader.read(transform.rule(), id, reinterpret_cast<std::byte*>(place.data()));
      found.seconds += thread_seconds() - start;
      if (dataset.encoding() == Encoding::image_file) add_size(dataset.sample(id, buffer), decoder, found);
      add_sample(reinterpret_cast<const std::uint8_t*>(bytes), dataset.encoding() == Encoding::floats, plane,
                 channels);
      ++found.read;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      on_bad(error.what());
      ++found.bad;
    }
  }
  if (found.read == 0) {
    throw Error(Category::data, fmt::format("none of the {} samples can be read", dataset.size()));
  }
  const double count = static_cast<double>(plane) * static_cast<double>(found.read);
  for (const ChannelSums& sums : channels) {
    const double mean = sums.sum / count;
    found.mean.push_back(mean);
    found.deviation.push_back(std::sqrt(std::max(0.0, sums.squares / count - mean * mean)));
  }
  return found;
}

}  // namespace lockstep
