#pragma once

#include <cstddef>

#include "core/host_device.h"
#include "device/cuda/bfloat16.h"
#include "ops/cuda/dnn/dnn.h"

/// Common part of kernels over [sample][row][column][channel]: a thread takes the channel_unit channels
/// of a pixel that lie together, adjacent threads adjacent ones.
namespace lockstep::cuda {

/// Adjacent channels of a pixel, read and written at once.
template <class T>
struct alignas(sizeof(T) * channel_unit < 16 ? sizeof(T) * channel_unit : 16) Pack {
  T values[channel_unit];
};

/// Index of an element. 32 bits: 64-bit divisions are slow on a GPU.
using Index = unsigned;

template <class T>
const Pack<T>* packs_at(const void* data) {
  return static_cast<const Pack<T>*>(data);
}
template <class T>
Pack<T>* packs_at(void* data) {
  return static_cast<Pack<T>*>(data);
}

/// Packs in `pixels` pixels.
constexpr std::size_t packs_of(std::size_t pixels, int channels) {
  return pixels * static_cast<std::size_t>(padded_channels(channels) / channel_unit);
}

/// By value: through a reference nvcc loads element by element, not 16 bytes at once (seen in its assembly).
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

/// Place of a pack. 32 bits: 2^32 packs are 64 GB of one activation.
struct PackPlace {
  unsigned pack;  ///< of its pixel
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

/// Calls run(a value of the type that activations of `type` are stored in).
template <class Run>
void with_stored(Type type, const Run& run) {
  if (type == Type::bf16) {
    run(Bfloat16{});
  } else {
    run(0.0F);
  }
}

}  // namespace lockstep::cuda
