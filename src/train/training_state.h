#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/exchange.h"
#include "core/step_state.h"
#include "device/device.h"
#include "lockstep/checkpoint.h"
#include "lockstep/field.h"
#include "lockstep/model_file.h"
#include "lockstep/reports.h"
#include "train/run.h"
#include "train/session/parameter_set.h"
#include "train/session/session.h"
#include "train/step/updater.h"

namespace lockstep {

/// Sums over the steps of an epoch; equal on all ranks, except `seconds`.
struct EpochTotals {
  LossSums sums;
  std::uint64_t skipped = 0;        ///< samples that could not be read
  std::uint64_t skipped_steps = 0;  ///< steps left out by OnNan; not in the other sums
  double seconds = 0.0;             ///< time of the steps on this rank
};

/// Progress of a run at a step boundary. Epoch and position in the epoch are computed from `step`.
struct Progress {
  std::uint64_t step = 0;  ///< number of steps made
  EpochTotals epoch = {};  ///< totals of the epoch in progress or, before its first step, of the last epoch
  std::uint64_t evaluated = 0;   ///< number of steps made before the last evaluation
  int skipped_in_row = 0;        ///< OnNan::skip: steps since the last one whose loss and norm were finite
  int rollbacks = 0;             ///< OnNan::rollback: number of rollbacks since the last epoch without one
  std::uint64_t pass_until = 0;  ///< OnNan::rollback: batches of steps up to this one are skipped
  BestEpoch best = {};           ///< among whole epochs
  BestEpoch cut_best = {};       ///< the last evaluated epoch, if max_steps cut it short and it was better
  std::array<std::uint64_t, 2> contents{};  ///< sum over the samples' contents of a whole epoch; 0: none yet
  std::array<std::uint64_t, 2> partial_contents{};  ///< sum in the epoch in progress up to `partial_step`
  std::uint64_t partial_step = 0;
};
/// Describes all values, for checkpoints. Real numbers have no range, as sums may exceed the range of
/// options.
template <OptionsOf<Progress> P, class Visitor>
void visit(P& progress, Visitor&& field) {
  auto& [step, epoch, evaluated, skipped_in_row, rollbacks, pass_until, best, cut_best, contents, partial,
         partial_step] = progress;
  auto& [sums, skipped, skipped_steps, seconds] = epoch;
  auto& [loss, correct, correct5, samples, absolute_error, target, squared_target] = sums;
  auto& [best_epoch, best_score] = best;
  auto& [cut_epoch, cut_score] = cut_best;
  auto& [contents_low, contents_high] = contents;
  auto& [partial_low, partial_high] = partial;
  field(step, {.name = "step", .help = "number of steps made"});
  field(loss, {.name = "epoch-loss", .help = "sum of the losses of the epoch in progress"});
  field(correct, {.name = "epoch-correct", .help = "its samples, or labels, that were classified right"});
  field(correct5, {.name = "epoch-correct5", .help = "its samples whose class was among the first five"});
  field(absolute_error, {.name = "epoch-absolute-error", .help = "sum of the absolute errors"});
  field(target, {.name = "epoch-target", .help = "sum of the targets"});
  field(squared_target, {.name = "epoch-squared-target", .help = "sum of the squares of the targets"});
  field(samples, {.name = "epoch-samples", .help = "its samples that were computed"});
  field(skipped, {.name = "epoch-skipped", .help = "its samples that could not be read"});
  field(skipped_steps, {.name = "epoch-skipped-steps", .help = "its steps that were left out"});
  field(skipped_in_row, {.name = "skipped-in-row", .help = "steps skipped since the last one that was made"});
  field(rollbacks, {.name = "rollbacks", .help = "returns to a checkpoint since the last whole epoch"});
  field(pass_until, {.name = "pass-until", .help = "step up to which batches are skipped"});
  field(seconds, {.name = "epoch-seconds", .help = "time of its steps"});
  field(evaluated, {.name = "evaluated-step", .help = "number of steps made before the last evaluation"});
  field(best_epoch, {.name = "best-epoch", .help = "number of the best epoch; 0: none yet"});
  field(best_score, {.name = "best-accuracy",  // name kept for compatibility with older checkpoints
                     .help = "score of the best epoch"});
  field(cut_epoch, {.name = "cut-best-epoch", .help = "number of a better epoch that was cut; 0: none"});
  field(cut_score, {.name = "cut-best-score", .help = "its score"});
  field(contents_low, {.name = "contents-low", .help = "sum over the samples' contents, low word"});
  field(contents_high, {.name = "contents-high", .help = "its high word"});
  field(partial_low, {.name = "epoch-contents-low", .help = "that sum in the epoch in progress, low word"});
  field(partial_high, {.name = "epoch-contents-high", .help = "its high word"});
  field(partial_step, {.name = "epoch-contents-step", .help = "number of steps made when it was taken"});
}

/// Array in device memory with one float per element of a network's parameters, or of a part of them.
struct NamedArena {
  std::string name;
  Buffer data;
  std::size_t begin = 0;            ///< first element of `data`
  std::size_t first = 0, last = 0;  ///< elements [first, last) are up to date on this rank after every step

  std::span<float> values() const { return data.floats(); }
};

/// Tensor of optimizer.safetensors: the part of an arena that belongs to a parameter.
struct StateTensor {
  std::string name;  ///< "momentum.conv1.weight", "average.conv1.weight"
  const Parameter* parameter;
  std::size_t offset;  ///< first element in the arena
};

/// Tensors of `arena`, an average or a state of the optimizer, in the order of the parameters. The optimizer
/// has no states for running statistics.
std::vector<StateTensor> state_tensors(const NamedArena& arena, const Run& run);

/// Complete state of a run at a step boundary: progress and arenas. Together with the options it determines
/// the rest of the run. Updates and evaluations use spans of the arenas.
class TrainingState {
 public:
  /// Initial state of `run`, which must outlive the state. Collective. Throws Error(usage) for impossible
  /// options of the optimizer and Error(resource) for lack of memory, on all ranks.
  TrainingState(const Session& session, const Run& run);

  Progress progress = {};
  /// ModelDescription::results of the last evaluation; after a resume, on rank 0 only.
  Facts evaluation = {};

  /// Arenas: "parameters"; "average", if averages are kept; "optimizer.momentum" and the like, with the
  /// elements that this rank updates.
  std::span<const NamedArena> arenas() const { return arenas_; }
  std::span<float> parameters() const { return arenas_.front().values(); }
  /// Values to evaluate and save: the averages or, if there are none, the parameters. In device memory.
  std::span<float> results() const { return result().values(); }
  /// Arenas that a step changes, with the slices of the ranks.
  UpdatedArenas updated() const;

  /// Loads this rank's parameters from a file, like ParameterSet::load. Throws Error(data).
  void load(const ModelFile& file, const LoadOptions& options, bool other_outputs);
  /// Copies the parameters to the averages. All ranks must have written their parameters before, as ranks may
  /// share the arenas.
  void start_averages();
  /// `evaluation`, if no step has run since that evaluation; else nothing.
  Facts present_results() const { return progress.evaluated == progress.step ? evaluation : Facts(); }
  /// Digest of the values that save() writes.
  std::string digest_of_results() const;
  void save(const std::string& file, const std::map<std::string, std::string>& metadata) const;
  /// Digest of the parameters, as Trainer::digest returns it.
  std::string digest() const;
  /// Hash of the parameters, gaps included.
  std::array<std::uint64_t, 2> parameter_hash() const;
  /// Hash of parameters and averages, gaps included.
  std::array<std::uint64_t, 2> hash() const;
  /// Name of a parameter, running statistic or average with a value that is not finite; empty: there is none.
  /// Activations may hide one, as max(0, NaN) may be 0. Reads the values that hash() fetched last.
  std::string not_finite() const;

 private:
  const NamedArena* average() const;
  const NamedArena& result() const { return average() != nullptr ? *average() : arenas_.front(); }

  const Run& run_;
  Slices slices_;
  std::vector<NamedArena> arenas_;
  std::vector<HostView> views_;  ///< views of parameters and, if there are any, averages
};

}  // namespace lockstep
