#pragma once

#include <string>

#include "cli/train/run_place.h"
#include "cli/train/train_options.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"

/// Lines about a run for people: on stderr, as stdout is for results only.
namespace lockstep {

/// Name of the data set whose score decides which epoch is the best.
std::string judging_set(const TrainOptions& options);

/// The recipe with its values in this run: "recipe table: model mlp, epochs 60, ..."; empty: the options are
/// of none. `options` have no values that follow from the training samples.
std::string recipe_line(const TrainOptions& options);

/// Warning that a smaller batch would make more steps, if there are few, of `samples` training samples;
/// empty: there are enough, or the batch is as small as it is by default.
std::string few_steps_warning(const TrainOptions& options, std::uint64_t samples,
                              std::uint64_t steps_per_epoch);

/// Prints recipe, model, ranks and run directory, and warnings about options that make the run slow, short or
/// its evaluation too optimistic. `samples`: number of training samples.
void print_start(const World& world, const TrainOptions& options, const RunPlace& place,
                 const Trainer& trainer, std::uint64_t samples);

void print_best(const TrainOptions& options, const Trainer& trainer);

/// Facts that a digest depends on, beside the options that change the training.
std::string digest_note(const World& world, const TrainOptions& options, const Trainer& trainer);

}  // namespace lockstep
