#pragma once

#include <cstdint>

#include "device/cuda/stream_handle.h"
#include "train/step/prediction.h"

namespace lockstep::cuda {

/// predictions[i] = {labels[i], predicted[i]}, i < samples
void write_predictions(StreamHandle stream, int samples, const std::int32_t* labels,
                       const std::int32_t* predicted, Prediction* predictions);

}  // namespace lockstep::cuda
