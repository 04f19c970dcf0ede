#include "cli/train/run_messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "cli/model/labels.h"
#include "cli/options/config_file.h"
#include "cli/options/flag.h"
#include "cli/recipes/recipes.h"
#include "core/options/text.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "data/files/csv_cell.h"
#include "optim/segments.h"
#include "run/report/event_numbers.h"
#include "run/sinks/progress_text.h"

namespace lockstep {
namespace {

/// Prints which ranks run on which host, one line per group; the summary suffices for a single group.
void print_map(const std::vector<RankGroup>& map) {
  constexpr std::size_t most = 16;
  if (map.size() == 1) return;
  for (std::size_t i = 0; i < std::min(map.size(), most); ++i) print_message(text_of(map[i]));
  if (map.size() > most) {
    print_message(fmt::format("and {} ranks more, in environment.json",
                              map.back().first + map.back().ranks - map[most].first));
  }
}

/// Prints network, data set, ranks and batch in one line.
void print_summary(const World& world, const TrainOptions& options, const Trainer& trainer) {
  print_message(fmt::format("{} on {}: {} x {}, batch {} = {} of {}{}", options.model.name, options.data.name,
                            counted(world.size(), "rank"),
                            device_text(trainer, options.training.execution.dtype),
                            options.training.batch.size, counted(trainer.micro_batches(), "micro-batch"),
                            options.training.batch.size / trainer.micro_batches(),
                            world.size() > 1 ? ", exchange by " + std::string(trainer.transport()) : ""));
}

void warn_of_idle_executors(const World& world, const TrainOptions& options, const Trainer& trainer) {
  const int executors = world.size() * trainer.threads();
  const int busy = trainer.micro_batches();
  if (executors > busy) {
    print_warning(
        fmt::format("{} of {} executors (ranks x threads: {} x {}) have no work (micro-batches: {}); use {} "
                    "{} or a larger {} (a divisor of {})",
                    executors - busy, executors, world.size(), trainer.threads(), busy,
                    flag_of(&ExecutionOptions::threads), std::max(1, busy / world.size()),
                    flag_of(&BatchOptions::micro_batches), options.training.batch.size));
  }
}

/// Warns if micro-batches leave vector lanes of the CPU idle that the default micro-batches would fill.
void warn_of_empty_lanes(const TrainOptions& options, const Trainer& trainer) {
  const int batch = options.training.batch.size;
  const int samples = batch / trainer.micro_batches();
  if (trainer.device() != DeviceKind::cpu || used_lanes(samples) > 0.7 || batch % 16 != 0) return;
  print_warning(
      fmt::format("micro-batches of {} leave {:.0f} % of the vector lanes without work: {} {} fills them "
                  "(and changes the result)",
                  counted(samples, "sample"), 100.0 * (1.0 - used_lanes(samples)),
                  flag_of(&BatchOptions::micro_batches), default_micro_batches(batch)));
}

/// Prints that a few GPUs are faster with fewer, larger micro-batches than the default.
void suggest_larger_micro_batches(const World& world, const TrainOptions& options, const Trainer& trainer) {
  const int automatic = trainer.micro_batches(), samples = options.training.batch.size / automatic;
  if (options.output.quiet || options.training.batch.micro_batches != 0 || samples >= 128) return;
  if (trainer.device() != DeviceKind::cuda || automatic < 2 * world.size()) return;
  if (options.training.batch.size % world.size() != 0) return;
  print_message(fmt::format(
      "{} micro-batches of {}, so that up to {} GPUs compute the same bits; {} {} is "
      "faster here, and has another digest",
      automatic, counted(samples, "sample"), automatic, flag_of(&BatchOptions::micro_batches), world.size()));
}

/// Name of the metric by which epochs are compared.
std::string score_name(const TrainOptions& options) { return words(score_of(options.data.task).name); }

/// Prints that models are selected on the test set, which makes its score too optimistic.
void warn_of_selection(const TrainOptions& options, const DatasetPair& data) {
  const bool selects = options.training.early_stopping > 0 || !options.output.keeps_nothing();
  if (options.output.quiet || !selects || data.validation) return;
  print_message(
      data.tests_on_validation
          ? fmt::format("best.safetensors and {} use the {} on the validation set, which is also the "
                        "test set; {} 0.1 holds out training samples for testing",
                        flag_of(&TrainerOptions::early_stopping), score_name(options),
                        flag_of(&DatasetOptions::test_fraction))
          : fmt::format("best.safetensors and {} use the {} on the test set; {} 0.1 holds out training "
                        "samples for this choice",
                        flag_of(&TrainerOptions::early_stopping), score_name(options),
                        flag_of(&DatasetOptions::validation_fraction)));
}

/// Prints the run directory and the step from which the run continues.
void print_place(const TrainOptions& options, const RunPlace& place, const Trainer& trainer) {
  const bool resumed = !place.checkpoint.empty();
  if (!resumed && !place.keeps() && !options.output.save_model.empty()) return;
  std::string text = resumed && !place.continues ? "new run directory " : "run directory ";
  text += place.folder.path().string();
  if (!place.keeps()) {
    text = fmt::format("nothing is kept of this run ({} none)", flag_of(&OutputOptions::run_directory));
  }
  if (resumed) text += fmt::format("{} from step {}", place.keeps() ? "" : ", continued", trainer.step());
  if (trainer.done()) text += ": nothing to do";
  print_message(text);
}

/// Numbers of samples of each part, with the origins of all but the training samples.
std::string sizes_text(const DatasetPair& data) {
  const auto part = [](const Dataset& dataset, const char* name, const std::string& origin) {
    return fmt::format(", {} {}{}", dataset.size(), name, origin.empty() ? "" : fmt::format(" ({})", origin));
  };
  std::string text = fmt::format("samples: {} training", data.train->size());
  if (data.validation) text += part(*data.validation, "validation", data.validation_origin);
  const char* because = data.tests_on_validation ? ", as there is no test set" : "";
  return text + part(*data.test, "test", data.test_origin + because);
}

/// Warning about classes or labels with fewer than 10 training samples; empty: there are none. Only for the
/// user's data, not for well-known or synthetic data sets.
std::string small_classes_text(const Dataset& train) {
  if (train.encoding() == Encoding::pixels || train.task() == Task::regression) return {};
  constexpr std::uint64_t enough = 10;
  constexpr std::size_t most_names = 5;
  const std::vector<std::uint64_t> counts = count_classes(train);
  const Names names = names_of_classes(train, train.classes());
  std::vector<std::string> small;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] < enough) small.push_back(fmt::format("{} ({})", printable(names[c]), counts[c]));
  }
  if (small.empty()) return {};
  const std::size_t more = small.size() - std::min(small.size(), most_names);
  const std::string noun = train.task() == Task::multilabel ? "label" : "class";
  const std::string number = small.size() == 1 ? fmt::format("one {} has", noun)
                                               : fmt::format("{} {} have", small.size(), plural(noun));
  const bool are_all = small.size() == counts.size() && train.table_encoding() != nullptr;
  const bool are_numbers = are_all && std::ranges::all_of(names, [](const std::string& name) {
                             return csv_number(name, ',').has_value();
                           });
  small.resize(small.size() - more);
  return fmt::format("{} fewer than {} training samples: {}{}{}", number, enough, fmt::join(small, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "",
                     are_numbers ? "; --task regression predicts numbers" : "");
}

/// The parameters that --freeze does not train: "frozen: 2 of 8 parameters: conv1.weight, conv1.bias"; empty:
/// none.
std::string frozen_text(const Network& network, const Names& patterns) {
  const std::vector<Parameter>& parameters = network.parameters();
  const std::vector<bool> frozen = frozen_parameters(parameters, patterns);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (frozen[i]) names.push_back(parameters[i].name);
  }
  if (names.empty()) return {};
  return fmt::format("frozen: {} of {}: {}", names.size(), counted(parameters.size(), "parameter"),
                     first_names(names));
}

/// Warning about batch norms that normalise a single value per channel in micro-batches of one sample: its
/// deviation from the mean is 0. Empty: there are none. `samples`: size of the data set.
std::string single_values_text(const Network& network, const TrainOptions& options, int micro_batches,
                               std::uint64_t samples) {
  const auto size = static_cast<std::uint64_t>(options.training.batch.size);
  const std::uint64_t each = size / static_cast<std::uint64_t>(micro_batches);
  const bool in_last = !options.training.drop_last && samples % size % each == 1;
  if (each > 1 && !in_last) return {};
  const std::vector<bool> frozen = frozen_parameters(network.parameters(), options.training.optimizer.freeze);
  const auto is_frozen = [&](int parameter) { return frozen[static_cast<std::size_t>(parameter)]; };
  std::vector<std::string> names;
  for (const Network::Layer& layer : network.layers()) {
    if (!std::holds_alternative<BatchNorm2d>(layer.operation)) continue;
    const bool is_one_value = layer.shape.height * layer.shape.width == 1;
    if (is_one_value && !std::ranges::all_of(layer.parameters, is_frozen)) names.push_back(layer.name);
  }
  if (names.empty()) return {};
  const std::string what = fmt::format("batch norm of one value per channel ({}) ", first_names(names));
  if (each == 1) {
    return what + fmt::format("learns nothing from micro-batches of 1 sample: use fewer {} or group_norm",
                              flag_of(&BatchOptions::micro_batches));
  }
  return what + fmt::format(
                    "learns nothing from the last micro-batch of an epoch, which has 1 sample, and takes "
                    "its variance, 0, into running_var: {} leaves it out",
                    flag_of(&TrainerOptions::drop_last));
}

}  // namespace

std::string device_text(const Trainer& trainer, DataType dtype) {
  if (trainer.device() == DeviceKind::cuda)
    return fmt::format("a GPU ({}), {}", trainer.processor(), name_of(dtype));
  const std::string stored = dtype == DataType::fp32 ? "" : fmt::format(", {}", name_of(dtype));
  return fmt::format("{}, {}{}", counted(trainer.threads(), "thread"), trainer.processor(), stored);
}

std::string recipe_line(const TrainOptions& options) {
  const char* const text = recipe_text(options.recipe);
  if (text == nullptr) return {};
  const std::vector<OptionText> all = texts_of(options);
  std::vector<std::string> parts;
  for (const ConfigEntry& entry : parse_config(text, options.recipe)) {
    const auto found =
        std::ranges::find_if(all, [&](const OptionText& o) { return o.field.name == entry.name; });
    if (entry.name != "dataset" && has_effect(all, *found)) parts.push_back(entry.name + " " + found->value);
  }
  return fmt::format("recipe {}: {}; {} none for the plain defaults", options.recipe, fmt::join(parts, ", "),
                     flag_of(&TrainOptions::recipe));
}

std::string few_steps_warning(const TrainOptions& options, std::uint64_t samples,
                              std::uint64_t steps_per_epoch) {
  constexpr std::uint64_t enough = 20;
  const int batch = options.training.batch.size, smaller = batch_size_for(samples);
  if (steps_per_epoch >= enough || batch <= smaller) return {};
  const auto steps =
      (samples + static_cast<std::uint64_t>(smaller) - 1) / static_cast<std::uint64_t>(smaller);
  if (steps <= steps_per_epoch) return {};
  return fmt::format("{} in batches of {} make {} an epoch: {} {} makes {} (and changes the result)",
                     counted(samples, "sample"), batch, counted(steps_per_epoch, "step"),
                     flag_of(&BatchOptions::size), smaller, steps);
}

std::string slow_average_warning(const TrainOptions& options, std::uint64_t steps_per_epoch) {
  constexpr double much = 0.05, little = 0.01;
  const TrainerOptions& training = options.training;
  std::uint64_t steps = steps_per_epoch * static_cast<std::uint64_t>(training.epochs);
  if (training.max_steps != 0) steps = std::min(steps, training.max_steps);
  if (!training.model_ema || steps == 0) return {};
  const double kept = std::pow(training.model_ema_decay, static_cast<double>(steps));
  if (kept < much) return {};
  const double decay = std::pow(little, 1.0 / static_cast<double>(steps));
  // Two digits of 1 - decay are enough.
  const double scale = std::pow(10.0, 1.0 - std::floor(std::log10(1.0 - decay)));
  return fmt::format(
      "{} {} keeps {:.0f} % of the initial parameters in the average after {}: {} keeps {:.0f} %",
      flag_of(&TrainerOptions::model_ema_decay), training.model_ema_decay, 100.0 * kept,
      counted(steps, "step"), std::floor(decay * scale) / scale, 100.0 * little);
}

std::vector<std::string> no_effect_warnings(const TrainOptions& options) {
  const TrainerOptions& training = options.training;
  const ScheduleOptions& schedule = training.schedule;
  const int epochs = training.epochs;
  std::vector<std::string> warnings;
  if (epochs == 0) return warnings;
  const auto warn = [&](const std::string& flag, const std::string& value) {
    warnings.push_back(
        fmt::format("{} {} has no effect: the run ends after {}", flag, value, counted(epochs, "epoch")));
  };
  if (schedule.name == "step" && std::ceil(schedule.decay_epochs) >= epochs) {
    warn(flag_of(&ScheduleOptions::decay_epochs), value_text(schedule.decay_epochs));
  }
  if (schedule.name == "multistep") {
    std::vector<double> late = schedule.decay_milestones;
    std::erase_if(late, [&](double milestone) { return std::ceil(milestone) < epochs; });
    if (!late.empty()) warn(flag_of(&ScheduleOptions::decay_milestones), value_text(late));
  }
  // The first epoch is always the best so far, so counting begins after it.
  if (training.early_stopping > 0 && training.early_stopping >= epochs - 1) {
    warn(flag_of(&TrainerOptions::early_stopping), value_text(training.early_stopping));
  }
  return warnings;
}

void print_start(const World& world, const TrainOptions& options, const RunPlace& place,
                 const DatasetPair& data, const Network& network, const Trainer& trainer,
                 const std::vector<RankGroup>& map) {
  if (!options.output.quiet) {
    print_message(recipe_line(options));
    print_summary(world, options, trainer);
    print_map(map);
    print_message(sizes_text(data));
    if (has_default_label_column(*data.train, options.data))
      print_message(label_column_text(*data.train, options.data));
    print_message(frozen_text(network, options.training.optimizer.freeze));
    print_place(options, place, trainer);
  }
  if (trainer.done()) return;
  if (trainer.step() == 0) {
    print_warning(few_steps_warning(options, data.train->size(), trainer.steps_per_epoch()));
    print_warning(slow_average_warning(options, trainer.steps_per_epoch()));
    print_warnings(no_effect_warnings(options));
  }
  print_warning(small_classes_text(*data.train));
  print_warning(similar_classes_text(*data.train));
  warn_of_selection(options, data);
  warn_of_idle_executors(world, options, trainer);
  warn_of_empty_lanes(options, trainer);
  print_warning(single_values_text(network, options, trainer.micro_batches(), data.train->size()));
  suggest_larger_micro_batches(world, options, trainer);
}

void print_best(const TrainOptions& options, const DatasetPair& data, const Trainer& trainer) {
  const BestEpoch best = trainer.best();
  if (options.output.quiet || best.epoch == 0) return;
  const char* const part = data.validation ? "validation" : "test";
  if (trainer.stopped_early()) {
    print_message(fmt::format("no better {} {} for {}: stopped early", part, score_name(options),
                              counted(options.training.early_stopping, "epoch")));
  }
  print_message(
      fmt::format("best epoch {}: {} {} {}", best.epoch, part, score_name(options), metric_text(best.score)));
}

std::string digest_note(const World& world, const TrainOptions& options, const Trainer& trainer) {
  std::string note = trainer.processors();
  const DataType dtype = options.training.execution.dtype;
  if (note != "CPU" || dtype != DataType::fp32) note += fmt::format(", {}", name_of(dtype));
  note += fmt::format(", {}, {}", counted(trainer.micro_batches(), "micro-batch"), name_of(trainer.reduce()));
  if (trainer.reduce() == Reduce::ring && world.size() > 1) {
    note += fmt::format(" on {} ranks: another number of ranks gives another digest", world.size());
  }
  return note;
}

}  // namespace lockstep
