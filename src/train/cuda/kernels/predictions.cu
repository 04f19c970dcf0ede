#include "train/cuda/kernels/predictions.h"

#include "device/cuda/native/launch.h"

namespace lockstep::cuda {
namespace {

struct WritePrediction {
  const std::int32_t* labels;
  const std::int32_t* predicted;
  Prediction* predictions;

  LOCKSTEP_HD void operator()(std::size_t i) const { predictions[i] = {labels[i], predicted[i]}; }
};

}  // namespace

void write_predictions(StreamHandle stream, int samples, const std::int32_t* labels,
                       const std::int32_t* predicted, Prediction* predictions) {
  for_each(stream, static_cast<std::size_t>(samples), WritePrediction{labels, predicted, predictions});
}

}  // namespace lockstep::cuda
