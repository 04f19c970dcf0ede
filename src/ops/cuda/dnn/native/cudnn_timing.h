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
/// Times the first engines that can be built and run, on a stream of its own, and returns the fastest.
/// Tensors hold random numbers, the same in each call: power and clocks of a GPU depend on the data. Measures
/// a run among others in a graph, as in training, without the time of the host. Empty: no engine can run.
/// Throws Error(resource) if memory is too small, or if the GPU fails.
std::optional<TimedEngine> fastest_engine(CudnnGraph& graph);

}  // namespace lockstep::cuda
