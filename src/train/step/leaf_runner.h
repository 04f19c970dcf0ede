#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/feed/loader.h"
#include "device/device.h"
#include "lockstep/sampler.h"
#include "ops/plan.h"
#include "train/step/prediction.h"

namespace lockstep {

/// Runs the micro-batches of a loader on one stream: a compiled graph, a workspace, and what brings samples
/// there. Its methods record; it outlives the recording. Addresses are the device's. Nodes are those of the
/// graph. Used by one thread at a time.
class LeafRunner {
 public:
  virtual ~LeafRunner() = default;

  /// Once a step, before its leaves.
  virtual void prepare(Stream& /*stream*/, const float* /*parameters*/) {}
  /// Loads leaf `leaf` of the loader's step. CPU: samples that cannot be read are left out, and the result
  /// says how many there were; none: loss 0 and gradients of 0. CUDA: while it is described the loader is set
  /// to a step of this size.
  virtual void load(Stream& stream, std::uint32_t leaf) = 0;
  /// Nodes of the leaf that was loaded, the first one first; the loss, if it is among them, goes to `result`.
  virtual void forward(Stream& stream, NodeRange nodes, const float* parameters, LeafResult* result) = 0;
  /// After forward: one prediction per sample of a micro-batch.
  virtual void predict(Stream& stream, Prediction* predictions) = 0;
  /// After forward: writes the gradients that nodes make, the last one first, to the arena `gradients`.
  virtual void backward(Stream& stream, NodeRange nodes, const float* parameters, float* gradients) = 0;

  /// All nodes that are computed, without the loss. Graphs compiled with PlanOptions::nodes_apart can run any
  /// range of them, any number of times and in any order, with what a run of all left; nodes without
  /// gradients do nothing in backward.
  virtual NodeRange nodes() const = 0;
  NodeRange nodes_and_loss() const { return {nodes().begin, nodes().end + 1}; }
  /// Parts of backward in their order, all nodes together.
  virtual std::vector<GradientPart> parts() const { return {{nodes(), 0}}; }

  /// What will be run from now on, in this order: positions in the loader's order as it is now, a range for
  /// each step. Samples may be read before they are wanted. Forgets what was said before. Outside of
  /// recordings; before anything is run.
  virtual void expect(std::span<const SampleRange> /*coming*/) {}
  /// Samples of all leaves run so far. Outside of recordings.
  virtual VisitSum visits() = 0;
  /// CUDA: seconds that the GPU has waited for samples so far.
  virtual double waited() const { return 0.0; }
};

}  // namespace lockstep
