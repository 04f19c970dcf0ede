#pragma once

#include <string>

#include "cli/model/model_options.h"
#include "cli/options/option_set.h"
#include "lockstep/checkpoint.h"
#include "lockstep/dataset.h"
#include "lockstep/period.h"
#include "lockstep/training_options.h"
#include "run/recorder.h"

namespace lockstep {

/// All options of `lockstep train` with their defaults.
struct TrainOptions {
  ModelOptions model;
  DatasetOptions data;
  std::string init_from;  ///< model file with the initial parameters; empty: initialised from the seed
  LoadOptions load;
  TrainerOptions training;
  Duration max_time;  ///< time limit from the start of the process; 0: no limit
  OutputOptions output;
  CheckpointOptions checkpoints;
  std::string resume;           ///< "auto", a run directory or a checkpoint; empty: a new run
  bool force = false;           ///< whether to resume with options that change the result
  std::string recipe = "auto";  ///< name of the recipe used for options; auto and none: no recipe

  bool operator==(const TrainOptions&) const = default;
};

/// Values of --recipe.
Names recipe_choices();

template <OptionsOf<TrainOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [model, data, init_from, load, training, max_time, output, checkpoints, resume, force, recipe] =
      options;
  visit(model, field);
  field(init_from, {.name = "init-from",
                    .help = "model file (safetensors) with the initial parameters",
                    .placeholder = "FILE",
                    .scope = Scope::file});
  visit(load, field);
  visit(data, field);
  visit(training, field);
  field(max_time,
        {.name = "max-time",
         .help = "stop early enough to finish within this time of starting (3h50m); same effect as SIGTERM",
         .group = "Training",
         .range = {.above = 0},
         .scope = Scope::protocol,
         .zero = "none"});
  visit(output, field);
  visit(checkpoints, field);
  field(resume,
        {.name = "resume",
         .help = "continue a run: its run directory (options that are given nowhere else are then read from "
                 "its options.cfg), one of its checkpoints, or auto: the newest run in --run-dir, or a new "
                 "one if there is none",
         .placeholder = "RUN|auto",
         .scope = Scope::file});
  field(force, {.name = "force",
                .help = "continue a run although options that affect its result have changed",
                .scope = Scope::protocol,
                .needs = {{"resume"}}});
  field(recipe, {.name = "recipe",
                 .help = "take options that are given nowhere else from this recipe (lockstep recipes lists "
                         "them). auto: table for the data set csv; photos for images, with --init-from "
                         "finetune; none with --config and for other data sets",
                 .group = "Other",
                 .scope = Scope::protocol,
                 .choices = recipe_choices});
}

/// The options of `lockstep train`, with their checks. `options` must outlive the set.
OptionSet train_option_set(TrainOptions& options);

/// Contents of options.cfg. `lockstep train --config` with this file yields equal options for a new run,
/// except --save-model.
std::string train_config(const TrainOptions& options);

}  // namespace lockstep
