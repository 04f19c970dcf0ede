#pragma once

#include <cstddef>
#include <optional>

#include "ops/cuda/dnn/native/cudnn_graph.h"

namespace lockstep::cuda {

/// An engine and its time on the current GPU.
struct TimedEngine {
  std::size_t engine = 0;
  double microseconds = 0.0;
};
/// Times the first engines that can be built, with tensors of zeros on a stream of its own, and returns the
/// fastest. Empty: no engine can be built. Throws Error(resource) if memory is too small.
std::optional<TimedEngine> fastest_engine(CudnnGraph& graph);

}  // namespace lockstep::cuda
