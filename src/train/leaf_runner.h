#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "data/loader.h"
#include "lockstep/sampler.h"
#include "ops/plan.h"
#include "train/prediction.h"

namespace lockstep {

/// Where what a micro-batch gives goes: memory of the device.
struct LeafOutputs {
  LeafResult* result = nullptr;
  float* gradients = nullptr;         ///< an arena; null: forward only
  Prediction* predictions = nullptr;  ///< one per sample of a micro-batch; null: none
  /// Called in the middle of backward when the gradients of elements from `begin` on were given to the
  /// stream; `begin` descends. Or never: all of them are when `run` returns.
  std::function<void(std::size_t begin)> ready = {};
};

/// One stream's way to run the micro-batches of a loader: a compiled graph, a workspace, and what brings
/// samples there. Addresses are the device's. Used by one thread at a time.
class LeafRunner {
 public:
  virtual ~LeafRunner() = default;

  /// Once a step, inside of enqueued work, before its leaves.
  virtual void prepare(const float* /*parameters*/) {}
  /// Inside of enqueued work: loads leaf `leaf` of the loader's step; forward, and backward where gradients
  /// are wanted. CPU: done on return; samples that cannot be read are left out, and the result says how many
  /// there were; none: loss 0 and gradients of 0. CUDA: the loader must have been set to a step of this size.
  virtual void run(std::uint32_t leaf, const float* parameters, const LeafOutputs& outputs) = 0;

  // Parts of what `run` does, any number of times and in any order, for measurements: of graphs compiled with
  // PlanOptions::nodes_apart, inside of enqueued work, with what the last run left, which had gradients.
  virtual void forward_node(std::size_t node, const float* parameters) = 0;
  virtual void loss(LeafResult* result) = 0;
  /// Nothing for nodes without gradients.
  virtual void backward_node(std::size_t node, const float* parameters, float* gradients) = 0;

  /// What will be run from now on, in this order: positions in the loader's order as it is now, a range for
  /// each step. Samples may be read before they are wanted. Forgets what was said before. Outside of
  /// recordings; before anything is run.
  virtual void expect(std::span<const SampleRange> /*coming*/) {}
  /// Samples of all leaves run so far. Outside of recordings.
  virtual VisitSum visits() = 0;

  struct Seconds {
    double load = 0.0;
    double forward = 0.0;
    double backward = 0.0;
  };
  /// Of all leaves run since it was last set to zero. CUDA: `load` only, while the GPU waited for samples.
  Seconds seconds;
};

}  // namespace lockstep
