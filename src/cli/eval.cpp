#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "cli/class_names.h"
#include "cli/commands.h"
#include "cli/data_warnings.h"
#include "cli/find_checkpoints.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/saved_model.h"
#include "cli/split.h"
#include "cli/train/train_options.h"
#include "core/message.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "lockstep/models.h"
#include "lockstep/world.h"
#include "run/sinks/progress_text.h"

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
  BatchOptions batch;
  ExecutionOptions execution;
  std::optional<SavedModel> saved = {};  ///< model that was opened for the values that it implies
};

template <OptionsOf<EvalOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [file, checkpoint, model, data, input, split, per_class, confusion, batch, execution,
                          saved] = options;
  field(checkpoint,
        {.name = "checkpoint",
         .help = "measure the model of this checkpoint, or of the newest good one of this run directory",
         .group = "Model",
         .placeholder = "RUN",
         .scope = Scope::file});
  visit(model, field);
  visit(data, field);
  visit(input, field);
  field(split, {.name = "split", .help = "part of the data set to measure"});
  field(per_class, {.name = "per-class",
                    .help = "also print the number of samples and the accuracy of each class",
                    .group = "Output",
                    .scope = Scope::protocol,
                    .needs = {{"task", {"classification"}}}});
  field(confusion, {.name = "confusion-matrix",
                    .help = "also print the confusion matrix: a row per class, a column per predicted class",
                    .scope = Scope::protocol,
                    .needs = {{"task", {"classification"}}}});
  visit(batch, field);
  visit(execution, field);
}

OptionSet option_set(EvalOptions& options) {
  OptionSet set(
      "lockstep eval [options] MODEL | --checkpoint RUN",
      "Measures loss and accuracy of a saved model. Each sample is evaluated once, by one of the "
      "ranks. Network, data set and preparation of the samples are those of the training, which the "
      "model contains, unless options change them. Classes are matched by their names.");
  set.optional_positional("MODEL",
                          "model file; a checkpoint; or a run directory, of which it is the best model, else "
                          "the final one, else the newest checkpoint",
                          options.file);
  set.add(options);
  set.config_file();
  set.config_of(
      "checkpoint",
      [&options](const std::string& path) {
        options.saved = open_checkpoint_model(path, is_first_process());
        return options.saved->describes_itself() ? "" : find_options(path).string();
      },
      "device", "cuda");
  set.imply([&options](const OptionSet::Given& given) {
    if (!options.file.empty()) options.saved = open_model(options.file, is_first_process());
    return options.saved ? implied_by(*options.saved, given) : std::vector<ImpliedValue>();
  });
  set.check([&options] {
    if (options.file.empty() == options.checkpoint.empty()) {
      throw Error(Category::usage, "name a model file, or a checkpoint with --checkpoint");
    }
  });
  set.ignore(train_option_names());
  set.epilogue(
      "Examples:\n  lockstep eval runs/lenet-fashion-mnist-1\n"
      "  lockstep-run -np 2 eval lenet.safetensors\n"
      "  lockstep eval flowers.safetensors --data-dir other-flowers --per-class\n"
      "  lockstep eval --model resnet18 --dataset images --data-dir imagenet torch.safetensors\n");
  return set;
}

std::string per_class_table(const std::vector<std::uint64_t>& confusion,
                            const std::vector<std::string>& names) {
  std::string table = fmt::format("{:<20}{:>9}{:>9}\n", "class", "samples", "acc");
  for (std::size_t c = 0; c < names.size(); ++c) {
    const auto row = std::span(confusion).subspan(c * names.size(), names.size());
    const std::uint64_t samples = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
    const std::string accuracy =
        samples == 0 ? "-"
                     : fmt::format("{:.4f}", static_cast<double>(row[c]) / static_cast<double>(samples));
    table += fmt::format("{:<20}{:>9}{:>9}\n", names[c], samples, accuracy);
  }
  return table;
}

std::string confusion_table(const std::vector<std::uint64_t>& confusion,
                            const std::vector<std::string>& names) {
  std::string table = fmt::format("{:<20}", "class");
  for (std::size_t c = 0; c < names.size(); ++c) {
    table += fmt::format("{:>7}", c);
  }
  for (std::size_t c = 0; c < names.size(); ++c) {
    table += fmt::format("\n{:<20}", fmt::format("{} {}", c, names[c]));
    for (std::size_t predicted = 0; predicted < names.size(); ++predicted) {
      table += fmt::format("{:>7}", confusion[c * names.size() + predicted]);
    }
  }
  return table + "\n";
}

/// Metrics of epochs first, with the name of the part of the data.
std::string result_line(const std::string& part, const Evaluation& result) {
  std::string epochs, more;
  for (const Metric& metric : metrics_of(result.task)) {
    const std::string text = fmt::format("{} {}  ", metric.label, metric_text(result.*metric.value));
    (metric.in_epochs ? epochs : more) += metric.in_epochs ? fmt::format("{} {}", part, text) : text;
  }
  std::string line = fmt::format("{}samples {}  {}", epochs, result.samples, more);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

int run_evaluation(World& world, const EvalOptions& options, const std::vector<std::string>& warnings) {
  const SavedModel& model = *options.saved;
  if (world.rank() == 0) {
    if (options.checkpoint.empty() && model.place != options.file)
      print_message(fmt::format("model {}", model.place));
    print_warning(fmt::format("{}", fmt::join(warnings, "; ")));
  }
  const DatasetPair data = open_dataset(world, options.data);
  const Dataset& whole = part_of(world, data, options.split);
  std::unique_ptr<Network> network;
  std::unique_ptr<Dataset> relabelled;
  world.agree([&] {
    network = network_of(model, options.model.name, whole.shape(), whole.classes());
    check_encoding(whole, model);
    relabelled = relabel(whole, model);
  });
  const Dataset& dataset = relabelled ? *relabelled : whole;
  const Evaluation result = evaluate(world, *network, model.file, dataset,
                                     {.confusion = options.per_class || options.confusion,
                                      .input = options.input,
                                      .batch = options.batch,
                                      .execution = options.execution});
  if (world.rank() == 0) {
    print_warning(
        skipped_warning(result, options.split == Split::train ? "training" : name_of(options.split)));
    const auto names = names_of_classes(dataset, static_cast<std::size_t>(network->classes()));
    print(result_line(name_of(options.split), result));
    print(options.per_class ? per_class_table(result.confusion, names) : "");
    print(options.confusion ? confusion_table(result.confusion, names) : "");
    const std::string found = digest(*network, model.file);
    print(fmt::format("digest {}\n", found));
    print_warning(changed_warning(model.description, model.place, found));
  }
  return 0;
}

}  // namespace

int run_eval(int argc, char** argv) {
  EvalOptions options;
  OptionSet set = option_set(options);
  return run_on_ranks(set, argc, argv,
                      [&](World& world) { return run_evaluation(world, options, set.contradictions()); });
}

void describe_eval(const OptionSetReader& read) { describe<EvalOptions>(option_set, read); }

}  // namespace lockstep
