#pragma once

#include <string>
#include <vector>

#include "cli/train/run_place.h"
#include "cli/train/train_options.h"
#include "lockstep/network.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"
#include "run/rank_map.h"

/// Human-readable lines about a run: on stderr, as stdout is for results only.
namespace lockstep {

/// Device of this rank, in words: "2 threads, avx512" or "a GPU (NVIDIA H200), bf16".
std::string device_text(const Trainer& trainer, DataType dtype);

/// The recipe with its values in this run: "recipe table: model mlp, epochs 60, ..."; empty: no recipe is
/// used. In `options`, by_data must be resolved.
std::string recipe_line(const TrainOptions& options);

/// Warning that an epoch has few steps, and that the default batch size for `samples` training samples would
/// make more. Empty: there are enough steps, or the batch is not larger than the default.
std::string few_steps_warning(const TrainOptions& options, std::uint64_t samples,
                              std::uint64_t steps_per_epoch);

/// Warning that the average of --model-ema will still contain much of the initial parameters at the end of
/// the run, with a decay that suits the number of steps; empty if it will not.
std::string slow_average_warning(const TrainOptions& options, std::uint64_t steps_per_epoch);

/// Warnings of options that have no effect because the run has too few epochs. They are not errors: the run
/// may be resumed with more epochs, in which the options take effect.
std::vector<std::string> no_effect_warnings(const TrainOptions& options);

/// Prints recipe, model, ranks with their hosts, data, frozen parameters and run directory. Unless the run is
/// done, also prints warnings about data and options that make the run slow or short, that make its
/// evaluation too optimistic, or that have no effect.
void print_start(const World& world, const TrainOptions& options, const RunPlace& place,
                 const DatasetPair& data, const Network& network, const Trainer& trainer,
                 const std::vector<RankGroup>& map);

void print_best(const TrainOptions& options, const DatasetPair& data, const Trainer& trainer);

/// Facts that a digest depends on, in addition to the options that change the training.
std::string digest_note(const World& world, const TrainOptions& options, const Trainer& trainer);

}  // namespace lockstep
