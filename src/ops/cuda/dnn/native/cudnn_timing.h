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
/// Times the first engines that can be built and run, on a separate stream, and returns the fastest; empty if
/// no engine can run. Tensors hold random numbers, the same in each call, because a GPU's power and clocks
/// depend on the data. Times consecutive runs in a graph, as in training, without the time of the host.
/// Throws Error(resource) if memory is insufficient, or if the GPU fails.
std::optional<TimedEngine> fastest_engine(CudnnGraph& graph);

}  // namespace lockstep::cuda
