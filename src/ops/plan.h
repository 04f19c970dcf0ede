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
  std::uint64_t correct = 0;   ///< samples whose largest logit (of equal ones, the first) is their class's
  std::uint64_t correct5 = 0;  ///< samples with fewer than 5 logits above that of their class
  std::uint64_t samples = 0;   ///< computed samples, without skipped ones

  LOCKSTEP_HD LeafResult& operator+=(const LeafResult& other) {
    loss += other.loss;
    correct += other.correct;
    correct5 += other.correct5;
    samples += other.samples;
    return *this;
  }
};

/// Nodes [begin, end) of a graph. Node 0 is the input; the number after the last node stands for the loss.
struct NodeRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const NodeRange&) const = default;
};

/// A part of the backward pass, which runs from the last node to the first. After it, gradients of the
/// arena's elements from `final_from` on are final.
struct GradientPart {
  NodeRange nodes;
  std::size_t final_from = 0;
};

/// Purpose that a graph is compiled for.
struct PlanOptions {
  int samples = 0;               ///< maximum in a micro-batch
  bool training = true;          ///< whether to compile the backward pass
  float label_smoothing = 0.0F;  ///< in [0, 1)
  /// Whether each parameter of the network is frozen. Backward stops where everything before is frozen.
  /// Empty: none is.
  std::vector<bool> frozen = {};
  bool nodes_apart = false;  ///< whether blocks of the workspace share no memory, so that nodes can run alone
};

}  // namespace lockstep
