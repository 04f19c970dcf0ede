#pragma once

#include <string>
#include <vector>

#include "cli/train/run_place.h"
#include "cli/train/train_options.h"
#include "lockstep/network.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"
#include "run/rank_map.h"

/// Lines about a run for people: on stderr, as stdout is for results only.
namespace lockstep {

/// Device of this rank, in words: "2 threads, avx512" or "a GPU (NVIDIA H200), bf16".
std::string device_text(const Trainer& trainer, DataType dtype);

/// The recipe with its values in this run: "recipe table: model mlp, epochs 60, ..."; empty: the options are
/// of none. `options` have no values that follow from the training samples.
std::string recipe_line(const TrainOptions& options);

/// Warning that a smaller batch would make more steps, if there are few, of `samples` training samples;
/// empty: there are enough, or the batch is as small as it is by default.
std::string few_steps_warning(const TrainOptions& options, std::uint64_t samples,
                              std::uint64_t steps_per_epoch);

/// Warning that --model-ema will still hold much of the initial parameters after all steps of the run, with a
/// decay that suits their number; empty: it will not.
std::string slow_average_warning(const TrainOptions& options, std::uint64_t steps_per_epoch);

/// Warnings of options that have no effect because the run has too few epochs. More epochs, with which the
/// run may be resumed, would give them one: they are no errors.
std::vector<std::string> no_effect_warnings(const TrainOptions& options);

/// Prints recipe, model, ranks with their hosts, data, frozen parameters and run directory, and, if there is
/// something to do, warnings about data and options that make the run slow, short or its evaluation too
/// optimistic, or have no effect.
void print_start(const World& world, const TrainOptions& options, const RunPlace& place,
                 const DatasetPair& data, const Network& network, const Trainer& trainer,
                 const std::vector<RankGroup>& map);

void print_best(const TrainOptions& options, const DatasetPair& data, const Trainer& trainer);

/// Facts that a digest depends on, beside the options that change the training.
std::string digest_note(const World& world, const TrainOptions& options, const Trainer& trainer);

}  // namespace lockstep
