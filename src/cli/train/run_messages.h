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

/// Prints model, ranks and run directory, and warnings about options that make the run slow or its evaluation
/// too optimistic.
void print_start(const World& world, const TrainOptions& options, const RunPlace& place,
                 const Trainer& trainer);

void print_best(const TrainOptions& options, Task task, const Trainer& trainer);

/// Facts that a digest depends on, beside the options that change the training.
std::string digest_note(const World& world, const TrainOptions& options, const Trainer& trainer);

}  // namespace lockstep
