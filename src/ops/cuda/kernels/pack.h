#pragma once

#include <cstddef>

#include "core/bfloat16.h"
#include "core/host_device.h"
#include "ops/cuda/dnn/dnn.h"

/// Common parts of kernels for tensors [sample][row][column][channel]. A thread processes a pack of
/// channel_unit adjacent channels of a pixel; adjacent threads process adjacent packs.
namespace lockstep::cuda {

/// Adjacent channels of a pixel, loaded and stored together.
template <class T>
struct alignas(sizeof(T) * channel_unit < 16 ? sizeof(T) * channel_unit : 16) Pack {
  T values[channel_unit];
};

/// Index of an element. 32 bits: 64-bit divisions are slow on a GPU.
using Index = unsigned;

template <class T>
LOCKSTEP_HD const Pack<T>* packs_at(const void* data) {
  return static_cast<const Pack<T>*>(data);
}
template <class T>
LOCKSTEP_HD Pack<T>* packs_at(void* data) {
  return static_cast<Pack<T>*>(data);
}

/// Number of packs in `pixels` pixels.
constexpr std::size_t packs_of(std::size_t pixels, int channels) {
  return pixels * static_cast<std::size_t>(padded_channels(channels) / channel_unit);
}

/// The pack is passed by value: for a reference, nvcc generates loads of single elements instead of 16 bytes.
template <class T>
LOCKSTEP_HD Pack<float> to_floats(Pack<T> pack) {
  Pack<float> floats;
  for (int k = 0; k < channel_unit; ++k) floats.values[k] = to_float(pack.values[k]);
  return floats;
}

template <class T>
LOCKSTEP_HD Pack<T> from_floats(const Pack<float>& floats) {
  Pack<T> pack;
  for (int k = 0; k < channel_unit; ++k) pack.values[k] = from_float<T>(floats.values[k]);
  return pack;
}

/// Position of a pack. 32 bits suffice: 2^32 packs are 64 GB of one activation.
struct PackPlace {
  unsigned pack;  ///< index within the pixel
  unsigned column;
  unsigned row;
  unsigned sample;
};

LOCKSTEP_HD inline PackPlace place_of(std::size_t index, unsigned packs, unsigned width, unsigned height) {
  const auto all = static_cast<unsigned>(index);
  const unsigned pixel = all / packs;
  const unsigned line = pixel / width;
  return {all % packs, pixel % width, line % height, line / height};
}

/// Sizes of images [sample][row][column][pack].
struct PackedImages {
  unsigned height;
  unsigned width;
  unsigned packs;

  LOCKSTEP_HD PackPlace place(std::size_t index) const { return place_of(index, packs, width, height); }
  /// Index of the pack `at.pack` of pixel (row, column) of the sample `at.sample`.
  LOCKSTEP_HD std::size_t index(const PackPlace& at, int row, int column) const {
    const unsigned line = at.sample * height + static_cast<unsigned>(row);
    return (line * width + static_cast<unsigned>(column)) * packs + at.pack;
  }
  /// Number of packs of all samples.
  std::size_t count(int samples) const { return static_cast<std::size_t>(samples) * height * width * packs; }
};

/// `channels`: padded.
inline PackedImages packed_images(int height, int width, int channels) {
  return {static_cast<unsigned>(height), static_cast<unsigned>(width),
          static_cast<unsigned>(channels / channel_unit)};
}

/// Maximum number of adjacent packs that a row of threads reads together.
constexpr std::size_t max_lanes = 4;
/// Number of packs read together, for pixels of `packs` packs.
constexpr std::size_t lanes_for(std::size_t packs) {
  return packs >= max_lanes ? max_lanes : packs >= 2 ? 2 : 1;
}

/// Calls run with a value of the C++ type in which activations of `type` are stored.
template <class Run>
void with_stored(Type type, const Run& run) {
  if (type == Type::bf16) {
    run(Bfloat16{});
  } else {
    run(0.0F);
  }
}

}  // namespace lockstep::cuda
