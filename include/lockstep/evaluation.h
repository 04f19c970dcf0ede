#pragma once

#include <cstdint>
#include <functional>
#include <span>
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
  /// Losses are added per micro-batch: with a training run's batch options, losses have the bits of that
  /// run's evaluations.
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
/// ranks. Collective. Throws on all ranks; Error(data) also if no sample can be read, or for labels or
/// targets that are invalid for the task. With input.strict, a sample that cannot be read throws only on the
/// rank that reads it, while the others wait; so does any other exception of the data set. Do not catch it to
/// continue: let it end the program, as run_program does (the launcher then ends the other ranks).
Evaluation evaluate(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
                    const EvaluationOptions& options);

/// A sample without usable outputs: it could not be read, or the network's outputs for it are not finite.
struct UnreadableSample {
  std::uint64_t sample = 0;
  std::string reason;          ///< names the sample
  bool is_not_finite = false;  ///< whether it was read, but its outputs are not finite
};

/// Outputs of the network for consecutive samples of a data set.
struct OutputBlock {
  std::uint64_t first = 0;    ///< number of the first sample
  std::uint64_t samples = 0;  ///< number of samples
  /// Logits, as [sample][output]; NaN for samples that cannot be read.
  std::span<const float> values = {};
  std::span<const UnreadableSample> unreadable = {};  ///< in ascending order
};

/// Computes the outputs of a saved model for every sample of a data set, spread over any number of ranks.
/// Calls `take` on rank 0 with blocks of samples in the order of the data set, as soon as each is computed;
/// the block is valid during the call. The outputs have the same bits on any number of ranks and threads;
/// block sizes vary. Memory does not grow with the data set. options.confusion has no effect. With
/// input.strict, a sample that cannot be read ends the computation; outputs that are not finite never do.
/// Class labels are not used. Collective. Throws on all ranks, also errors of `take`, which must not be empty
/// on rank 0. Errors of reading a sample are thrown as by evaluate(), on one rank only.
void predict(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
             const EvaluationOptions& options, const std::function<void(const OutputBlock&)>& take);

/// Writes the softmax of `logits` to `probabilities`, of equal length, in double precision: the same bits on
/// any processor. All probabilities are NaN if a logit is NaN or infinite.
void softmax(std::span<const float> logits, std::span<double> probabilities);

/// Probability of a label (Task::multilabel): the sigmoid of its logit in double precision, the same bits on
/// any processor. NaN if the logit is NaN.
double label_probability(float logit);

/// Digest of the parameters in a model file, in the format of Trainer::digest. Throws Error(data).
std::string digest(const Network& network, const ModelFile& file);

}  // namespace lockstep
