#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace lockstep {

/// Most parameters that an operation has.
constexpr std::size_t max_parameters = 4;

/// Sums over the samples of one micro-batch.
struct LeafResult {
  double loss = 0.0;
  std::uint64_t correct = 0;   ///< samples whose largest logit (lowest index wins) is their class's
  std::uint64_t correct5 = 0;  ///< samples with fewer than 5 logits above that of their class
  std::uint64_t samples = 0;   ///< really computed: without those that could not be read
};

/// What a graph is compiled for.
struct PlanOptions {
  int samples = 0;               ///< of a full micro-batch; fewer are allowed when run
  bool training = true;          ///< false: forward only, less memory
  bool mixing = false;           ///< batches have partners
  float label_smoothing = 0.0F;  ///< in [0, 1)
  Shape images;                  ///< of the data set; the graph reads its leading rows and columns
  /// Of the network's parameters, those that are not updated: backward ends where nothing before is. Empty:
  /// none.
  std::vector<bool> frozen = {};
  bool nodes_apart = false;  ///< blocks of the workspace share no memory, so that nodes can run alone
};

}  // namespace lockstep
