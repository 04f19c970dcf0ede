#include "train/cuda/kernels/predictions.h"

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

struct WritePrediction {
  const std::int32_t* labels;
  const std::int32_t* predicted;
  Prediction* predictions;

  LOCKSTEP_HD void operator()(std::size_t i) const { predictions[i] = {labels[i], predicted[i]}; }
};

template <class T>
struct WriteOutput {
  const T* values;
  float* outputs;
  std::size_t count;
  std::size_t padded;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    outputs[i] = to_float(values[i / count * padded + i % count]);
  }
};

}  // namespace

void write_predictions(StreamHandle stream, int samples, const std::int32_t* labels,
                       const std::int32_t* predicted, Prediction* predictions) {
  for_each(stream, static_cast<std::size_t>(samples), WritePrediction{labels, predicted, predictions});
}

void write_outputs(StreamHandle stream, Type type, int samples, int count, const void* values,
                   float* outputs) {
  const auto each = static_cast<std::size_t>(count);
  const auto padded = static_cast<std::size_t>(padded_channels(count));
  with_stored(type, [&](auto stored) {
    using T = decltype(stored);
    for_each(stream, static_cast<std::size_t>(samples) * each,
             WriteOutput<T>{static_cast<const T*>(values), outputs, each, padded});
  });
}

}  // namespace lockstep::cuda
