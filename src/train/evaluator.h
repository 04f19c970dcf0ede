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

/// Throws Error(data) on all ranks if none of the samples of `evaluation` could be read. `what`: name of the
/// samples in the message, for example "test samples". Collective.
void check_read(const World& world, const Evaluation& evaluation, const std::string& what);

/// Estimated seconds of a forward pass over `samples` samples by all ranks, as if each rank had one core or
/// one GPU: an upper bound, to within a small factor. The same on all ranks.
double forward_seconds(const Session& session, const Network& network, std::uint64_t samples);

/// Number of rounds in which to evaluate `samples` samples: one per second of forward_seconds, at least 1,
/// and at most the number of leaves. The same on all ranks.
std::uint64_t evaluation_rounds(const Session& session, const Network& network, std::uint64_t samples,
                                std::uint32_t micro_batch);

/// Evaluates a network on a data set, each sample once. Leaves are spread over ranks and executors; their
/// losses are added in the order of leaves, so the bits are the same on any number of ranks. For
/// Task::multilabel, all outputs are gathered on rank 0, which must have memory for them.
class Evaluator {
 public:
  /// `graph` must be compiled for evaluation with micro-batches of this size. `parameters`: an arena of the
  /// device. `rounds`: number of parts between which an evaluation can be abandoned; the same on all ranks.
  /// All arguments must outlive the evaluator. Collective. Throws the errors of Loader and Error(resource) on
  /// all ranks.
  Evaluator(const Session& session, CompiledGraph& graph, const Dataset& dataset, std::uint32_t micro_batch,
            std::span<const float> parameters, const InputOptions& input = {}, std::uint64_t rounds = 1);

  /// Evaluates the data set. The caller checks whether any sample could be read (check_read). Collective.
  Evaluation run() { return *run_while(nullptr); }
  /// Same as run, but calls `should_continue`, if it is not empty, before each round, and returns nothing
  /// once the call returns false. `should_continue` is collective and must return the same on all ranks.
  std::optional<Evaluation> run_while(const std::function<bool()>& should_continue);
  /// Makes later evaluations set Evaluation::confusion, for `classes` classes. Collective. Throws
  /// Error(resource) on all ranks.
  void count_confusion(std::size_t classes);
  /// Samples that could not be read.
  BadSamples& bad_samples() const { return loader_.bad_samples(); }

 private:
  /// Programs of each round: several on a GPU, where the length of a program is limited.
  using Rounds = std::vector<std::vector<std::unique_ptr<Program>>>;
  Rounds record(std::uint64_t rounds);
  std::vector<std::uint64_t> confusion() const;
  void collect_outputs();
  std::vector<LabelResult> labels(std::uint64_t skipped);
  /// Number of the first sample of a leaf, at most the number of samples in the data set.
  std::uint64_t position(std::uint32_t leaf) const;
  std::size_t own_samples() const { return position(last_leaf()) - position(first_leaf()); }
  /// This rank has the leaves [first_leaf(), last_leaf()).
  std::uint32_t first_leaf() const { return pass_.assignment().executors.front(); }
  std::uint32_t last_leaf() const { return pass_.assignment().executors.back(); }

  const Session& session_;
  std::span<const float> parameters_;
  Loader loader_;
  LeafRunners runners_;
  LeafPass pass_;
  std::size_t classes_ = 0;         ///< 0: confusion is not counted
  Buffer predictions_;              ///< predictions for this rank's samples, in device memory
  std::size_t outputs_ = 0;         ///< outputs per sample; 0: outputs are not collected
  Buffer own_outputs_;              ///< outputs for this rank's samples, in device memory
  std::vector<float> all_outputs_;  ///< outputs for all samples, on rank 0
  std::optional<BackgroundGather> gather_;
  Rounds rounds_;
  std::vector<LeafResult> results_;  ///< results of all leaves, on the host
};

}  // namespace lockstep
