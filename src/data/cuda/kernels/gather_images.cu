#include <cmath>

#include "data/cuda/gather.h"
#include "device/cuda/native/launch.h"

namespace lockstep::cuda {
namespace {

/// Number of channels that one thread writes.
constexpr int unit = 8;

template <class Value>
struct alignas(16) StoredChannels {
  Value values[unit];
};

/// Writes `unit` channels of one pixel of one sample.
template <class Value>
struct GatherImages {
  ImageGather gather;
  StoredChannels<Value>* output;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const auto units = static_cast<std::size_t>(gather.stored_channels / unit);
    const auto width = static_cast<std::size_t>(gather.target.width);
    const auto height = static_cast<std::size_t>(gather.target.height);
    const auto first = static_cast<int>(i % units) * unit;
    const std::size_t pixel = i / units;
    const auto column = static_cast<int>(pixel % width);
    const auto row = static_cast<int>(pixel / width % height);
    const auto sample = static_cast<std::uint32_t>(pixel / width / height);
    const MicroBatch& batch = gather.batch;
    const Source own = source(sample, row, column);
    const Source partner =
        batch.mixes() ? source(MicroBatchRule::partner(sample, batch.size), row, column) : own;
    StoredChannels<Value> stored;
    for (int k = 0; k < unit; ++k) {
      const int channel = first + k;
      float value = 0.0F;
      if (channel < gather.target.channels) {
        value = network_value(own, channel);
        if (batch.mixes()) {
          const float share = batch.shares[sample];
          value = fmaf(share, value, (1.0F - share) * network_value(partner, channel));
        }
      }
      stored.values[k] = from_float<Value>(value);
    }
    output[i] = stored;
  }

  /// A sample and the index of an element in its channel 0; `sample` is null for a black pixel.
  struct Source {
    const std::byte* sample;
    std::size_t element;
  };

  LOCKSTEP_HD Source source(std::uint32_t sample, int row, int column) const {
    const Shape& shape = gather.format.shape;
    PixelPlacement placement;
    if (gather.placements != nullptr) placement = gather.placements[sample];
    const int cut_row = row - placement.cut_row;
    const int cut_column = column - placement.cut_column;
    const bool cut = cut_row >= 0 && cut_row < gather.cutout && cut_column >= 0 && cut_column < gather.cutout;
    const int from_row = row + placement.down;
    const int from_column = (placement.flipped ? shape.width - 1 - column : column) + placement.right;
    const bool outside =
        from_row < 0 || from_row >= shape.height || from_column < 0 || from_column >= shape.width;
    if (cut || outside) return {nullptr, 0};
    return {gather.batch.samples[sample],
            static_cast<std::size_t>(from_row) * static_cast<std::size_t>(shape.width) +
                static_cast<std::size_t>(from_column)};
  }

  /// Value of the network's input, computed as SampleFormat defines.
  LOCKSTEP_HD float network_value(const Source& source, int channel) const {
    const SampleFormat& format = gather.format;
    const std::size_t element = source.element + static_cast<std::size_t>(channel) *
                                                     static_cast<std::size_t>(format.shape.height) *
                                                     static_cast<std::size_t>(format.shape.width);
    float value = 0.0F;
    if (source.sample != nullptr) {
      value =
          format.floats
              ? reinterpret_cast<const float*>(source.sample)[element]
              : static_cast<float>(reinterpret_cast<const std::uint8_t*>(source.sample)[element]) / 255.0F;
    }
    return format.mean == nullptr ? value : (value - format.mean[channel]) / format.deviation[channel];
  }
};

template <class Value>
void gather_as(StreamHandle stream, const ImageGather& gather, Value* output) {
  const std::size_t pixels = std::size_t{gather.batch.size} * static_cast<std::size_t>(gather.target.height) *
                             static_cast<std::size_t>(gather.target.width);
  for_each(stream, pixels * static_cast<std::size_t>(gather.stored_channels / unit),
           GatherImages<Value>{gather, reinterpret_cast<StoredChannels<Value>*>(output)});
}

}  // namespace

void gather_images(StreamHandle stream, const ImageGather& gather, float* output) {
  gather_as(stream, gather, output);
}
void gather_images(StreamHandle stream, const ImageGather& gather, Bfloat16* output) {
  gather_as(stream, gather, output);
}

}  // namespace lockstep::cuda
