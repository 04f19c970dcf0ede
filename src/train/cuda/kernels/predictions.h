#pragma once

#include <cstdint>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"
#include "train/step/prediction.h"

namespace lockstep::cuda {

/// predictions[i] = {labels[i], predicted[i]}, i < samples
void write_predictions(StreamHandle stream, int samples, const std::int32_t* labels,
                       const std::int32_t* predicted, Prediction* predictions);

/// outputs[sample][i] = values[sample][i], i < count; `values` has padded channels of `type`.
void write_outputs(StreamHandle stream, Type type, int samples, int count, const void* values,
                   float* outputs);

}  // namespace lockstep::cuda
