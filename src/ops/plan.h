#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

/// Maximum number of parameters of an operation.
constexpr std::size_t max_parameters = 4;

/// Sums over the samples of one micro-batch.
struct LeafResult {
  double loss = 0.0;
  std::uint64_t correct = 0;   ///< samples whose largest logit (lowest index wins) is their class's
  std::uint64_t correct5 = 0;  ///< samples with fewer than 5 logits above that of their class
  std::uint64_t samples = 0;   ///< that were computed: without those that could not be read
};

/// Purpose that a graph is compiled for.
struct PlanOptions {
  int samples = 0;               ///< maximum number in a micro-batch
  bool training = true;          ///< false: forward only, less memory
  float label_smoothing = 0.0F;  ///< in [0, 1)
  /// By parameter of the network: whether it is not updated. Backward ends where nothing before is updated.
  /// Empty: all are.
  std::vector<bool> frozen = {};
  bool nodes_apart = false;  ///< blocks of the workspace share no memory, so that nodes can run alone
};

}  // namespace lockstep
