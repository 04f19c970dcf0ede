#pragma once

#include <string>

#include "lockstep/dataset.h"
#include "lockstep/execution.h"
#include "lockstep/input.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/reports.h"
#include "lockstep/training_options.h"

namespace lockstep {

class World;

/// Options of an evaluation, which `visit` describes.
struct EvaluationOptions {
  bool confusion = false;   ///< whether to count samples by class and predicted class
  InputOptions input = {};  ///< as in training; no augmentation is applied
  /// Losses are added per micro-batch: the values of a training run give the bits of its evaluations.
  BatchOptions batch = {};
  ExecutionOptions execution = {};
};

template <OptionsOf<EvaluationOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [confusion, input, batch, execution] = options;
  field(confusion, {.name = "confusion", .help = "count samples by class and predicted class"});
  visit(input, field);
  visit(batch, field);
  visit(execution, field);
}

/// Mean loss and accuracy of a saved model over a data set, each sample once, spread over any number of
/// ranks. Collective. Throws on all ranks; Error(data) also when no sample can be read.
Evaluation evaluate(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
                    const EvaluationOptions& options);

/// Digest of the parameters in a model file, in the format of Trainer::digest. Throws Error(data).
std::string digest(const Network& network, const ModelFile& file);

}  // namespace lockstep
