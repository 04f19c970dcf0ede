#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batch.h"
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

/// A graph compiled for one device and one size of micro-batch; memory laid out. Immutable: any number of
/// executors run it at once, each with a workspace of its own. `parameters` and `gradients` are arenas of the
/// plan's layout.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Brings a micro-batch into the workspace, in the device's layout.
  virtual void load(const Batch& batch, std::byte* workspace) const = 0;
  /// Loss and hits of the loaded micro-batch of `samples` samples, which may be none.
  virtual LeafResult forward(int samples, const float* parameters, std::byte* workspace) const = 0;
  /// After forward: class of the largest logit of each sample; memory of the workspace.
  virtual std::span<const std::int32_t> predictions(int samples, const std::byte* workspace) const = 0;
  /// After forward: writes (does not add) the gradients of the loss's sum. Training plans only. Gradients of
  /// frozen parameters are zeros or their gradients.
  virtual void backward(int samples, const float* parameters, float* gradients,
                        std::byte* workspace) const = 0;

  // What forward and backward consist of, any number of times and in any order, for measurements: of plans
  // with PlanOptions::nodes_apart, with what the last forward and backward left in the workspace.
  virtual void forward_node(std::size_t node, int samples, const float* parameters,
                            std::byte* workspace) const = 0;
  virtual LeafResult loss(int samples, std::byte* workspace) const = 0;
  /// Nothing for nodes without gradients.
  virtual void backward_node(std::size_t node, int samples, const float* parameters, float* gradients,
                             std::byte* workspace) const = 0;
};

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
