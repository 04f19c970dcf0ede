#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/host_device.h"
#include "graph/graph.h"

namespace lockstep {

/// Maximum number of parameters of an operation.
constexpr std::size_t max_parameters = 4;

/// Sums over the samples of one micro-batch.
struct LeafResult {
  double loss = 0.0;
  std::uint64_t correct = 0;   ///< samples whose largest logit (lowest index wins) is their class's
  std::uint64_t correct5 = 0;  ///< samples with fewer than 5 logits above that of their class
  std::uint64_t samples = 0;   ///< number of samples that were computed, without those that could not be read

  LOCKSTEP_HD LeafResult& operator+=(const LeafResult& other) {
    loss += other.loss;
    correct += other.correct;
    correct5 += other.correct5;
    samples += other.samples;
    return *this;
  }
};

/// Nodes [begin, end) of a graph; the input is node 0, and the node after the last stands for the loss.
struct NodeRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const NodeRange&) const = default;
};

/// Part of backward, which goes from the last node to the first. After it, gradients of elements from
/// `final_from` on are final.
struct GradientPart {
  NodeRange nodes;
  std::size_t final_from = 0;
};

/// Purpose that a graph is compiled for.
struct PlanOptions {
  int samples = 0;               ///< maximum number in a micro-batch
  bool training = true;          ///< false: forward only, less memory
  float label_smoothing = 0.0F;  ///< in [0, 1)
  /// By parameter of the network: whether it is frozen, that is, not updated. Backward ends where all earlier
  /// parameters are frozen. Empty: none is.
  std::vector<bool> frozen = {};
  bool nodes_apart = false;  ///< blocks of the workspace share no memory, so that nodes can run alone
};

}  // namespace lockstep
