#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/background_gather.h"
#include "lockstep/evaluation.h"
#include "train/session/session.h"
#include "train/step/leaf_pass.h"

namespace lockstep {

/// Throws Error(data) on all ranks if none of the samples of `evaluation` could be read. `what` names them in
/// the message: "test samples". Collective.
void check_read(const World& world, const Evaluation& evaluation, const std::string& what);

/// Estimate of the time of a forward pass over `samples` samples by all ranks, as if each had one core, or a
/// GPU: an upper bound, within a small factor. The same on all ranks.
double forward_seconds(const Session& session, const Network& network, std::uint64_t samples);

/// Number of rounds of about a second, by forward_seconds, in which `samples` samples are evaluated: at most
/// the number of leaves. The same on all ranks.
std::uint64_t evaluation_rounds(const Session& session, const Network& network, std::uint64_t samples,
                                std::uint32_t micro_batch);

/// Measures a network on a data set: each sample once, leaves spread over ranks and executors, one sum of
/// loss per leaf, added in the order of leaves, so the same bits on any number of ranks. For
/// Task::multilabel, all outputs are gathered on rank 0, whose memory must have room for them.
class Evaluator {
 public:
  /// `graph`: compiled for evaluation with micro-batches of this size. `parameters`: an arena of the device.
  /// `rounds`: number of parts after which an evaluation can be abandoned; the same on all ranks. All
  /// arguments outlive the evaluator. Collective. Throws the errors of Loader and Error(resource) on all
  /// ranks.
  Evaluator(const Session& session, CompiledGraph& graph, const Dataset& dataset, std::uint32_t micro_batch,
            std::span<const float> parameters, const InputOptions& input = {}, std::uint64_t rounds = 1);

  /// Evaluates the data set. The caller checks whether any sample could be read (check_read). Collective.
  Evaluation run() { return *run_while(nullptr); }
  /// Same as run, but calls `should_continue`, unless it is empty, before each round and returns nothing once
  /// it is false. `should_continue` is collective and returns the same on all ranks.
  std::optional<Evaluation> run_while(const std::function<bool()>& should_continue);
  /// Lets evaluations from now on set Evaluation::confusion, for `classes` classes. Collective. Throws
  /// Error(resource) on all ranks.
  void count_confusion(std::size_t classes);
  /// Samples that could not be read.
  BadSamples& bad_samples() const { return loader_.bad_samples(); }

 private:
  /// Programs of each round; a GPU has several, of a limited length.
  using Rounds = std::vector<std::vector<std::unique_ptr<Program>>>;
  Rounds record(std::uint64_t rounds);
  std::vector<std::uint64_t> confusion() const;
  void collect_outputs();
  std::vector<LabelResult> labels(std::uint64_t skipped);
  /// Number of the first sample of a leaf, or of all samples.
  std::uint64_t position(std::uint32_t leaf) const;
  std::size_t own_samples() const { return position(last_leaf()) - position(first_leaf()); }
  /// Leaves of this rank: the first, and the one after the last.
  std::uint32_t first_leaf() const { return pass_.assignment().executors.front(); }
  std::uint32_t last_leaf() const { return pass_.assignment().executors.back(); }

  const Session& session_;
  std::span<const float> parameters_;
  Loader loader_;
  LeafRunners runners_;
  LeafPass pass_;
  std::size_t classes_ = 0;         ///< 0: confusion is not counted
  Buffer predictions_;              ///< of this rank's samples, in the device's memory
  std::size_t outputs_ = 0;         ///< of a sample; 0: outputs are not collected
  Buffer own_outputs_;              ///< of this rank's samples, in the device's memory
  std::vector<float> all_outputs_;  ///< on rank 0
  std::optional<BackgroundGather> gather_;
  Rounds rounds_;
  std::vector<LeafResult> results_;  ///< on the host
};

}  // namespace lockstep
