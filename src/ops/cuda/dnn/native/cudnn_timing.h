#pragma once

#include <cstddef>
#include <optional>

#include "ops/cuda/dnn/native/cudnn_graph.h"

namespace lockstep::cuda {

/// The fastest on the current GPU of the first engines that can be built, with its time.
struct TimedEngine {
  std::size_t engine = 0;
  double microseconds = 0.0;
};
/// Allocates tensors of zeros and works on a stream of its own. Nothing where no engine can be built.
/// Throws Error(resource) where memory is too small.
std::optional<TimedEngine> fastest_engine(CudnnGraph& graph);

}  // namespace lockstep::cuda
