#pragma once

#include <cstddef>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Epilogue of an operation, for libraries that do not support it: values = [relu](values [+ bias]), in
/// place.
struct LateEpilogue {
  Type type = Type::fp32;
  void* values = nullptr;      ///< [pixels][channels] of the type
  const void* bias = nullptr;  ///< [channels] of the type; may be null
  bool relu = false;
  std::size_t pixels = 0;
  std::size_t channels = 0;
};
void run_epilogue(StreamHandle stream, const LateEpilogue& epilogue);

}  // namespace lockstep::cuda
