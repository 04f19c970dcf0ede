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

/// Runs the micro-batches of a loader on one stream. Has a compiled graph, its workspace and a source of
/// samples. Methods record work; the runner must outlive the recorded programs. Addresses are in device
/// memory. Nodes are indices in the graph. Used by one thread at a time.
class LeafRunner {
 public:
  virtual ~LeafRunner() = default;

  /// Prepares the parameters. Call once per step, before its leaves.
  virtual void prepare(Stream& /*stream*/, const float* /*parameters*/) {}
  /// Loads leaf `leaf` of the loader's step. CPU: skips samples that cannot be read, and counts the others in
  /// the result; if none can be read, loss and gradients are 0. CUDA: while recording, the loader must be set
  /// to a step of this size.
  virtual void load(Stream& stream, std::uint32_t leaf) = 0;
  /// Computes `nodes` of the loaded leaf, in ascending order. The loss, if it is among them, is written to
  /// `result`.
  virtual void forward(Stream& stream, NodeRange nodes, const float* parameters, LeafResult* result) = 0;
  /// Writes one prediction per sample. Call after forward.
  virtual void predict(Stream& stream, Prediction* predictions) = 0;
  /// Writes the network's outputs, [sample][output]: NaN for samples that were skipped. Call after forward of
  /// all nodes, with or without the loss.
  virtual void write_outputs(Stream& stream, float* outputs) = 0;
  /// Computes the backward pass of `nodes`, in descending order, and writes their gradients to the arena
  /// `gradients`. Call after forward.
  virtual void backward(Stream& stream, NodeRange nodes, const float* parameters, float* gradients) = 0;

  /// All nodes that are computed, without the loss. Graphs compiled with PlanOptions::nodes_apart can run any
  /// range of nodes, any number of times and in any order, on the values of the last run of all nodes; nodes
  /// without gradients do nothing in backward.
  virtual NodeRange nodes() const = 0;
  NodeRange nodes_and_loss() const { return {nodes().begin, nodes().end + 1}; }
  /// Parts of the backward pass, in order; together they cover all nodes.
  virtual std::vector<GradientPart> parts() const { return {{nodes(), 0}}; }

  /// Announces the samples that will be run next, in this order: positions in the present order of the
  /// loader, one range per step. The samples may be read in advance. Replaces earlier announcements. Required
  /// before anything is run; do not call while recording.
  virtual void expect(std::span<const SampleRange> /*coming*/) {}
  /// Visits of all leaves run so far. Do not call while recording.
  virtual VisitSum visits() = 0;
  /// Sum of ids and contents over the same visits, if samples are image files.
  virtual VisitSum contents() const { return {}; }
  /// CUDA: seconds that the GPU has waited for samples so far.
  virtual double waited() const { return 0.0; }
};

/// Runners for the first streams of a device, one for each.
using LeafRunners = std::vector<std::unique_ptr<LeafRunner>>;

}  // namespace lockstep
