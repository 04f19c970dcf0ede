#include <cmath>

#include "data/cuda/gather.h"

namespace lockstep::cuda {
namespace {

/// Channels that one thread writes.
constexpr int unit = 8;

template <class Value>
struct alignas(16) StoredChannels {
  Value values[unit];
};

/// Some channels of one pixel of one sample.
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
    const std::size_t sample = pixel / width / height;
    const Source own = source(sample, row, column);
    const Source partner = gather.shares != nullptr ? source(gather.samples - 1 - sample, row, column) : own;
    StoredChannels<Value> stored;
    for (int k = 0; k < unit; ++k) {
      const int channel = first + k;
      float value = 0.0F;
      if (channel < gather.target.channels) {
        value = network_value(own, channel);
        if (gather.shares != nullptr) {
          const float share = gather.shares[sample];
          value = fmaf(share, value, (1.0F - share) * network_value(partner, channel));
        }
      }
      stored.values[k] = from_float<Value>(value);
    }
    output[i] = stored;
  }

  /// An element of channel 0 of the array; none for a pixel that is black.
  struct Source {
    bool black;
    std::size_t element;
  };

  LOCKSTEP_HD Source source(std::size_t sample, int row, int column) const {
    const Shape& shape = gather.array.shape;
    PlacedSample placed;
    placed.place = sample;
    if (gather.placed != nullptr) placed = gather.placed[sample];
    const int cut_row = row - placed.cut_row;
    const int cut_column = column - placed.cut_column;
    const bool cut = cut_row >= 0 && cut_row < gather.cutout && cut_column >= 0 && cut_column < gather.cutout;
    const int from_row = row + placed.down;
    const int from_column = (placed.flipped != 0 ? shape.width - 1 - column : column) + placed.right;
    const bool outside =
        from_row < 0 || from_row >= shape.height || from_column < 0 || from_column >= shape.width;
    if (cut || outside) return {true, 0};
    const std::size_t first = placed.place * static_cast<std::size_t>(shape.channels) *
                              static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
    return {false, first + static_cast<std::size_t>(from_row) * static_cast<std::size_t>(shape.width) +
                       static_cast<std::size_t>(from_column)};
  }

  /// As data/batch.h defines it.
  LOCKSTEP_HD float network_value(const Source& source, int channel) const {
    const Shape& shape = gather.array.shape;
    const std::size_t element = source.element + static_cast<std::size_t>(channel) *
                                                     static_cast<std::size_t>(shape.height) *
                                                     static_cast<std::size_t>(shape.width);
    float value = 0.0F;
    if (!source.black) {
      value = gather.array.floats != nullptr ? gather.array.floats[element]
                                             : static_cast<float>(gather.array.pixels[element]) / 255.0F;
    }
    return gather.mean == nullptr ? value : (value - gather.mean[channel]) / gather.deviation[channel];
  }
};

template <class Value>
void gather_as(StreamHandle stream, const ImageGather& gather, Value* output) {
  const std::size_t pixels = std::size_t{gather.samples} * static_cast<std::size_t>(gather.target.height) *
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
