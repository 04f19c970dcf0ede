#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/model/data_part.h"
#include "cli/model/eval_results.h"
#include "cli/model/find_checkpoints.h"
#include "cli/model/labels.h"
#include "cli/model/model_options.h"
#include "cli/model/sample_predictions.h"
#include "cli/model/saved_model.h"
#include "cli/options/flag.h"
#include "cli/results.h"
#include "cli/source_files.h"
#include "cli/train/data_warnings.h"
#include "core/files/file_system.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "data/sets/parts.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

struct EvalOptions {
  std::string file;
  std::string checkpoint;
  ModelOptions model{.name = {}};
  DatasetOptions data;
  InputOptions input;
  Split split = Split::test;
  bool per_class = false;
  bool confusion = false;
  bool calibration = false;
  std::string predictions;
  ResultOptions results;
  BatchOptions batch;
  ExecutionOptions execution;
  std::optional<SavedModel> saved = {};  ///< model that was opened for the values that it implies
  bool has_dataset = true;               ///< whether the model or the user names the data set
};

template <OptionsOf<EvalOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [file, checkpoint, model, data, input, split, per_class, confusion, calibration,
                          predictions, results, batch, execution, saved, has_dataset] = options;
  field(checkpoint,
        {.name = "checkpoint",
         .help = "measure the model of this checkpoint, or of the newest good one of this run directory",
         .group = "Model",
         .placeholder = "RUN",
         .scope = Scope::file});
  visit(model, field);
  visit(data, field);
  visit(input, field);
  field(
      split,
      {.name = "split",
       .help = "part of the data set to measure; all: every sample, for data that was not used in training"});
  field(per_class,
        {.name = "per-class",
         .help = "also print samples, precision, recall and F1 of each class, or of each label with "
                 "its average precision (AP)",
         .group = "Output",
         .scope = Scope::protocol,
         .needs = {{"task", {"classification", "multilabel"}}}});
  field(confusion, {.name = "confusion-matrix",
                    .help = "also print the confusion matrix: a row per class, a column per predicted class",
                    .scope = Scope::protocol,
                    .needs = {{"task", {"classification"}}}});
  field(calibration, {.name = "calibration",
                      .help = "also print the expected calibration error: in 15 bins of predicted "
                              "probability, how far the mean probability is from the share of correct "
                              "predictions; needs a second pass over the samples",
                      .scope = Scope::protocol,
                      .needs = {{"task", {"classification"}}}});
  field(predictions,
        {.name = "predictions",
         .help = "CSV file for the class, the predicted class and its probability of each sample, or for "
                 "the number and the predicted number; with --calibration, both take one pass",
         .placeholder = "FILE",
         .scope = Scope::file,
         .needs = {{"task", {"classification", "regression"}}}});
  visit(results, field);
  visit(batch, field);
  visit(execution, field);
}

OptionSet option_set(EvalOptions& options) {
  OptionSet set(
      "lockstep eval [options] MODEL | --checkpoint RUN",
      "Measures loss and accuracy of a saved model. Each sample is evaluated once, by one of the "
      "ranks. The model file names the network, the data set, the preparation of the samples, the batch "
      "size, and whether the training computed in bf16; options override them. Classes are matched by their "
      "names.");
  set.optional_positional("MODEL",
                          "model file; a checkpoint; or a run directory, of which it is the best model, else "
                          "the final one, else the newest checkpoint",
                          options.file);
  set.add(options);
  set.config_file();
  set.config_of("checkpoint", [&options](const std::string& path) {
    options.saved = open_checkpoint_model(path, is_first_process());
    return options.saved->describes_itself() ? "" : find_options(path).string();
  });
  set.imply([&options](const OptionSet::Given& given) {
    if (!options.file.empty()) options.saved = open_model(options.file, is_first_process());
    if (!options.saved) return std::vector<ImpliedValue>();
    std::vector<ImpliedValue> values = implied_by(*options.saved, given);
    const auto is_dataset = [](const ImpliedValue& value) { return value.name == "dataset"; };
    options.has_dataset = !given("dataset").empty() || std::ranges::any_of(values, is_dataset);
    return values;
  });
  set.check([&options] {
    if (options.file.empty() == options.checkpoint.empty()) {
      throw Error(Category::usage, "name a model file, or a checkpoint with --checkpoint");
    }
    if (options.predictions == "-") {
      throw Error(Category::usage, "'-' is not a file, and stdout has the results: name a file",
                  "predictions");
    }
  });
  set.epilogue(
      "Examples:\n  lockstep eval runs/lenet-fashion-mnist-1\n"
      "  lockstep-run -np 2 eval lenet.safetensors\n"
      "  lockstep eval flowers.safetensors --data-dir other-flowers --split all --per-class\n"
      "  lockstep eval --model resnet18 --dataset images --data-dir imagenet torch.safetensors\n");
  return set;
}

/// Whether to count results by class: they are printed, or the classes are so few that counting costs
/// nothing.
bool counts_confusion(const Dataset& dataset, const EvalOptions& options) {
  constexpr int few = 1000;
  if (dataset.task() != Task::classification) return false;
  return options.per_class || options.confusion || dataset.classes() <= few;
}

bool needs_outputs(const EvalOptions& options) { return options.calibration || !options.predictions.empty(); }

/// Whether each sample's outputs must be examined. The loss reveals most outputs that are not finite, but not
/// a logit of -inf, which a huge cell of a table may cause.
bool may_overflow(const Dataset& dataset, const Evaluation& evaluation) {
  return dataset.table_encoding() != nullptr || !std::isfinite(evaluation.loss);
}

/// Samples whose outputs are not finite.
struct NotFinite {
  std::uint64_t samples = 0;
  std::string first = {};  ///< reason for the first sample; names the sample

  void add(const OutputBlock& block) {
    for (const UnreadableSample& sample : block.unreadable) {
      if (sample.is_not_finite && samples++ == 0) first = sample.reason;
    }
  }
  /// Throws Error(data) if there is one, or if the loss is not finite.
  void check(const Evaluation& evaluation) const {
    if (samples > 0) {
      throw Error(Category::data,
                  samples == 1 ? first : fmt::format("{} ({} samples have such outputs)", first, samples));
    }
    if (std::isfinite(evaluation.loss)) return;
    throw Error(Category::data,
                fmt::format("the loss is {}: check the samples and the model", std::fabs(evaluation.loss)));
  }
};

/// On rank 0, the collector of predictions if `options` need each sample's outputs; else null. Collective.
std::unique_ptr<SamplePredictions> open_predictions(const World& world, const Network& network,
                                                    const Dataset& dataset, const EvalOptions& options) {
  std::unique_ptr<SamplePredictions> predictions;
  world.agree([&] {
    if (world.rank() != 0 || !needs_outputs(options)) return;
    std::vector<SourceFile> sources = files_of(options.data);
    sources.push_back({options.saved->place, "the model itself"});
    check_output(options.predictions, OutputKind::predictions, sources, "predictions");
    predictions = std::make_unique<SamplePredictions>(dataset, names_of_classes(dataset, network.classes()),
                                                      options.predictions);
  });
  return predictions;
}

/// Message that only held-out samples are measured, of data other than the training data; empty if that is
/// not the case.
std::string held_out_note(const DataPart& part, const EvalOptions& options, const SavedModel& model) {
  const DatasetPair& data = part.data;
  if (part.split != Split::test || data.test_origin != origin_of_fraction(options.data.test_fraction) ||
      is_same_file(options.data.directory, fact(model.description.data, "data-dir"))) {
    return {};
  }
  const std::uint64_t held_out = data.test->size();
  const std::uint64_t validation = data.validation ? data.validation->size() : 0;
  return fmt::format(
      "measuring the {} of {} only; if none of this data was used in training, --split all measures all {}",
      counted(held_out, "sample"), data.test_origin, data.train->size() + validation + held_out);
}

/// Fingerprint of the model's training set, from the checkpoints of its run; empty: unknown.
std::string training_set_of(const SavedModel& model) {
  const std::filesystem::path run = run_of(model.place);
  try {
    return fact(open_checkpoint(run.empty() ? model.place : run.string(), false).state.identity,
                "training set");
  } catch (const Error&) {
    return {};
  }
}

/// Warning that held-out samples may have been trained on: they are a fraction of the data set of the
/// training, but its training part has changed. Empty: not the case, or unknown.
std::string training_part_warning(const DataPart& part, const EvalOptions& options, const SavedModel& model) {
  const DatasetPair& data = part.data;
  const bool is_held_out =
      (part.split == Split::test && data.test_origin == origin_of_fraction(options.data.test_fraction)) ||
      (part.split == Split::validation && data.whole != nullptr);
  const std::string folder = fact(model.description.data, "data-dir");
  if (!is_held_out || options.data.name != fact(model.description.data, "dataset") ||
      (options.data.directory != folder && !is_same_file(options.data.directory, folder)) ||
      data.train->shape() != model.description.shape) {
    return {};
  }
  const std::string trained = training_set_of(model);
  if (trained.empty() || trained == data.train->fingerprint()) return {};
  return fmt::format(
      "{}: was trained on other samples than the training part here (files or fractions have changed), so {} "
      "samples may be ones that it was trained on",
      model.place, adjective_of(part.split));
}

int evaluate_model(World& world, const EvalOptions& options) {
  const SavedModel& model = *options.saved;
  if (world.rank() == 0 && options.checkpoint.empty() && model.place != options.file)
    print_message(fmt::format("model {}", model.place));
  if (world.rank() == 0 && !options.has_dataset) {
    print_warning(fmt::format(
        "{}: names no data set; measuring with the default, {}: give {} and {} for another", model.place,
        options.data.name, flag_of(&DatasetOptions::name), flag_of(&DatasetOptions::directory)));
  }
  const DataPart data = open_part(world, options.data, options.split, model);
  const Dataset& whole = data.samples();
  if (world.rank() == 0) {
    print_warnings(whole.warnings());
    print_message(held_out_note(data, options, model));
  }
  std::unique_ptr<Network> network;
  std::unique_ptr<Dataset> relabelled;
  world.agree([&] {
    network = network_of(model, options.model.name, whole.shape(), whole.classes());
    check_task(whole, model);
    check_encoding(whole, model);
    relabelled = relabel(whole, model);
    if (world.rank() != 0) return;
    print_warning(training_part_warning(data, options, model));
    if (whole.encoding() != Encoding::floats) print_message(preparation_note(model, options.input));
  });
  const Dataset& dataset = relabelled ? *relabelled : whole;
  const EvaluationOptions evaluation{.confusion = counts_confusion(dataset, options),
                                     .input = options.input,
                                     .batch = options.batch,
                                     .execution = options.execution};
  const std::unique_ptr<SamplePredictions> predictions = open_predictions(world, *network, dataset, options);
  EvalResults results{.part = name_of(options.split),
                      .evaluation = evaluate(world, *network, model.file, dataset, evaluation)};
  if (needs_outputs(options) || may_overflow(dataset, results.evaluation)) {
    NotFinite not_finite;
    predict(world, *network, model.file, dataset, evaluation, [&](const OutputBlock& block) {
      if (predictions) predictions->add(block);
      not_finite.add(block);
    });
    world.agree([&] {
      if (world.rank() == 0) not_finite.check(results.evaluation);
      if (!predictions) return;
      predictions->finish();
      results.calibration_error = predictions->calibration_error();
    });
  }
  if (world.rank() == 0) {
    print_warning(skipped_warning(results.evaluation, adjective_of(options.split)));
    results.class_names = names_of_classes(dataset, network->classes());
    results.digest = digest(*network, model.file);
    const ResultPrinter printer(options.results, true);
    printer.text(text_of(results) + (options.per_class ? class_table(results) : "") +
                 (options.confusion ? confusion_table(results) : "") +
                 fmt::format("digest {}\n", results.digest));
    printer.finish(results);
  }
  return 0;
}

}  // namespace

constinit const Command eval_command =
    command_of_ranks<EvalOptions, option_set, evaluate_model>("eval", "measure a saved model on a data set");

}  // namespace lockstep
