#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn.h"

namespace lockstep::cuda {

/// values = relu?(values + bias), in place, where a library does not do it with the operation before.
/// `values`: [pixels][channels] of the type's storage; `bias`: [channels] of it, or null.
void add_bias_relu(StreamHandle stream, Type type, void* values, const void* bias, std::size_t pixels,
                   std::size_t channels, bool relu);

}  // namespace lockstep::cuda
