#pragma once

#include <string>

#include "cli/model_options.h"
#include "lockstep/dataset.h"
#include "lockstep/training_options.h"
#include "report/recorder.h"

namespace lockstep {

/// Where rank 0 writes what; `visit` describes the options.
struct OutputOptions {
  std::string run_directory;
  std::string save_model;
  int log_interval = 1;
  ProgressLine progress = ProgressLine::automatic;
  bool quiet = false;

  bool operator==(const OutputOptions&) const = default;
};

template <OptionsOf<OutputOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [run_directory, save_model, log_interval, progress, quiet] = options;
  field(run_directory,
        {.name = "run-dir",
         .help = "write options.cfg, environment.json, metrics.jsonl, report.html and checkpoints "
                 "there, among them the model of the best test accuracy; without it, nothing but "
                 "the printed lines",
         .group = "Output",
         .placeholder = "DIR",
         .scope = Scope::local});
  field(save_model, {.name = "save-model",
                     .help = "write the trained parameters (with --model-ema: their average) to this file "
                             "(safetensors)",
                     .placeholder = "FILE",
                     .scope = Scope::local});
  field(log_interval,
        {.name = "log-interval",
         .help = "write every Nth step to metrics.jsonl; more than 1: a GPU is also given N steps (at "
                 "most 1000) before the host looks at their outcomes, otherwise 50",
         .range = {.min = 1},
         .scope = Scope::local,
         .needs = {{"run-dir"}}});
  field(progress, {.name = "progress",
                   .help = "line on stderr that shows the step; auto where stderr is a terminal",
                   .scope = Scope::local});
  field(quiet, {.name = "quiet",
                .help = "print the final digest only: no progress, no line per epoch",
                .scope = Scope::local});
}

/// All options of `lockstep train`; the defaults are those of the command line.
struct TrainOptions {
  ModelOptions model;
  DatasetOptions data;
  std::string init_from;  ///< model file to start from; empty: first values from the seed
  LoadOptions load;
  TrainerOptions training;
  OutputOptions output;

  bool operator==(const TrainOptions&) const = default;
};

template <OptionsOf<TrainOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [model, data, init_from, load, training, output] = options;
  visit(model, field);
  field(init_from, {.name = "init-from",
                    .help = "start from the parameters of this model file (safetensors)",
                    .placeholder = "FILE",
                    .scope = Scope::file});
  visit(load, field);
  visit(data, field);
  visit(training, field);
  visit(output, field);
}

}  // namespace lockstep
