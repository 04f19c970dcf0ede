#pragma once

#include <cstddef>
#include <optional>

#include "ops/cuda/dnn/native/cudnn_graph.h"

namespace lockstep::cuda {

/// Fastest engine on the current GPU, among the first that can be built, with its time.
struct TimedEngine {
  std::size_t engine = 0;
  double microseconds = 0.0;
};
/// Measures engines. Allocates tensors of zeros and uses a stream of its own. Returns nothing if no engine
/// can be built. Throws Error(resource) for lack of memory.
std::optional<TimedEngine> fastest_engine(CudnnGraph& graph);

}  // namespace lockstep::cuda
