#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "graph/graph.h"

namespace lockstep {

/// Sums over the samples of one micro-batch.
struct LeafResult {
  double loss = 0.0;
  std::uint64_t correct = 0;  ///< samples whose largest logit (lowest index wins) is their class's
};

/// What random numbers of a step depend on, beside the sample.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

/// One micro-batch: images and labels on the host.
struct Batch {
  std::span<const std::uint8_t* const> images;  ///< pixels of each sample, [channel][row][column]
  std::span<const std::int32_t> labels;
  std::span<const std::uint64_t> ids;  ///< of the samples: what dropout depends on
  RandomKey random;
};

/// A graph compiled for one device and one size of micro-batch; memory laid out. Immutable: any number of
/// executors run it at once, each with a workspace of its own. `parameters` and `gradients` are arenas of the
/// plan's layout.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Brings a micro-batch into the workspace, in the device's layout.
  virtual void load(const Batch& batch, std::byte* workspace) const = 0;
  /// Loss and hits of the loaded micro-batch of `samples` samples.
  virtual LeafResult forward(int samples, const float* parameters, std::byte* workspace) const = 0;
  /// After forward: writes (does not add) the gradients of the loss's sum. Training plans only.
  virtual void backward(int samples, const float* parameters, float* gradients,
                        std::byte* workspace) const = 0;
};

struct PlanOptions {
  int samples = 0;       ///< of a full micro-batch; fewer are allowed when run
  bool training = true;  ///< false: forward only, less memory
  Shape images;          ///< of the data set; the graph reads its leading rows and columns
};

}  // namespace lockstep
