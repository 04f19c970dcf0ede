#include "ops/cuda/kernels/batch_norm.h"

#include <cmath>

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

struct FoldNorm {
  std::size_t channels;
  float eps;
  NormParameters from;
  float* scale;
  float* shift;

  LOCKSTEP_HD void operator()(std::size_t c) const {
    const bool padding = c >= channels;
    scale[c] = padding ? 0.0F : from.weight[c] * (1.0F / std::sqrt(from.running_variance[c] + eps));
    shift[c] = padding ? 0.0F : from.bias[c] - from.running_mean[c] * scale[c];
  }
};

template <class T>
struct Normalize {
  Index packs;
  NormTask task;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const Index first = static_cast<Index>(i) % packs * channel_unit;
    Pack<T> pack = static_cast<const Pack<T>*>(task.input)[i];
    Pack<T> residual{};
    if (task.residual != nullptr) residual = static_cast<const Pack<T>*>(task.residual)[i];
    for (int c = 0; c < channel_unit; ++c) {
      float v = std::fma(to_float(pack.values[c]), task.scale[first + c], task.shift[first + c]);
      v += to_float(residual.values[c]);
      pack.values[c] = from_float<T>(task.clamp(v));
    }
    static_cast<Pack<T>*>(task.output)[i] = pack;
  }
};

}  // namespace

void fold_norm(StreamHandle stream, int channels, float eps, const NormParameters& parameters, float* scale,
               float* shift) {
  for_each(stream, static_cast<std::size_t>(padded_channels(channels)),
           FoldNorm{static_cast<std::size_t>(channels), eps, parameters, scale, shift});
}

void normalize(StreamHandle stream, Type type, const NormTask& task) {
  const auto packs = static_cast<Index>(task.channels / channel_unit);
  with_stored(type, [&]<class T>(T /*stored*/) {
    for_each(stream, task.pixels * packs, Normalize<T>{packs, task});
  });
}

}  // namespace lockstep::cuda
