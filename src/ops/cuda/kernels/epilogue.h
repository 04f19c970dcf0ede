#pragma once

#include <cstddef>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Computes values = relu?(values [+ bias] [+ residual]) in place: the part of an epilogue that an operation
/// of a library does not do itself.
struct LateEpilogue {
  Type type = Type::fp32;
  void* values = nullptr;          ///< [pixels][channels], stored as the type is
  const void* bias = nullptr;      ///< [channels], stored alike, or null
  const void* residual = nullptr;  ///< as values, or null
  bool relu = false;
  std::size_t pixels = 0;
  std::size_t channels = 0;
};
void run_epilogue(StreamHandle stream, const LateEpilogue& epilogue);

}  // namespace lockstep::cuda
