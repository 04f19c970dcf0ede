#pragma once

#include <string>

#include "cli/model_options.h"
#include "lockstep/dataset.h"
#include "lockstep/training_options.h"
#include "report/recorder.h"

namespace lockstep {

/// All options of `lockstep train` with their defaults.
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
