#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/model/labels.h"
#include "cli/model/model_summary.h"
#include "cli/model/target_text.h"
#include "cli/output.h"
#include "cli/results.h"
#include "core/json/members.h"
#include "core/options/text.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "data/files/table_encoding.h"
#include "data/sets/dataset_statistics.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/sampler.h"
#include "lockstep/world.h"
#include "ops/cpu/level.h"
#include "run/sinks/progress_text.h"

namespace lockstep {
namespace {

struct DataOptions {
  std::string action;
  DatasetOptions data;
  InputOptions input;
  AugmentOptions augment;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 1;
  ResultOptions results;
};

template <OptionsOf<DataOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [action, data, input, augment, seed, epoch, results] = options;
  visit(data, field);
  visit(input, field);
  visit(augment, field);
  field(seed, {.name = "seed", .help = "order: seed of the run", .group = "Data"});
  field(epoch, {.name = "epoch", .help = "order: number of the epoch", .range = {.min = 1}});
  visit(results, field);
}

OptionSet option_set(DataOptions& options) {
  OptionSet set(
      "lockstep data order|show|stats [options]",
      "order: prints the ids of the training samples, one per line, in the order in which an epoch "
      "visits them.\n"
      "show: prints the number of samples, in all and of each class, and how each column of a table "
      "is read.\n"
      "stats: as show; also reads all samples, the training samples with the augmentations that "
      "are given, and prints the mean and standard deviation of each channel (for --mean and "
      "--std), the sizes of the images, the files that cannot be read (with --strict: ends at the "
      "first), and how many samples one thread reads per second.\n"
      "'lockstep help data pack' explains how to pack images into a few files.");
  set.choice("thing to print", {"order", "show", "stats"}, "what to print", options.action);
  set.add(options);
  set.config_file();
  set.epilogue(
      "Example, the first epoch:\n"
      "  lockstep data order --dataset fashion-mnist --seed 0 --epoch 1 | head -3\n");
  return set;
}

void print_order(const Dataset& train, const DataOptions& options) {
  const Permutation order(train.size(), options.seed, options.epoch - 1);
  for (std::uint64_t position = 0; position < train.size(); ++position) {
    print(fmt::format("{}\n", order(position)));
  }
}

/// Statistics over all samples of a part.
struct PartStatistics {
  std::vector<double> mean;  ///< mean of each channel
  std::vector<double> deviation;
  std::optional<std::vector<int>> widths = {};  ///< smallest and largest width; image files only
  std::optional<std::vector<int>> heights = {};
  std::uint64_t read = 0;
  std::uint64_t unreadable = 0;
  double samples_per_s = 0.0;  ///< samples read per second on one thread
};
LOCKSTEP_MEMBERS(PartStatistics, mean, deviation, widths, heights, read, unreadable, samples_per_s)

/// Statistics of the numbers to predict, in the table's unit.
struct NumberStatistics {
  double mean = 0.0;
  double deviation = 0.0;
  double smallest = 0.0;
  double largest = 0.0;
};
LOCKSTEP_MEMBERS(NumberStatistics, mean, deviation, smallest, largest)

/// Training, validation or test samples.
struct DatasetPart {
  std::string part;
  Task task = Task::classification;
  std::uint64_t samples = 0;
  Shape shape;
  std::vector<std::string> classes;
  std::vector<std::uint64_t> class_samples = {};  ///< samples of each class or label; empty: regression
  std::optional<NumberStatistics> numbers = {};   ///< regression
  std::optional<PartStatistics> statistics = {};  ///< only with `stats`
};
LOCKSTEP_MEMBERS(DatasetPart, part, task, samples, shape, classes, class_samples, numbers, statistics)

struct DatasetResults {
  std::vector<DatasetPart> parts;
  std::optional<std::vector<TableColumn>> columns = {};  ///< features of a table
};
LOCKSTEP_MEMBERS(DatasetResults, parts, columns)

std::string text_of(const TableColumn& column) {
  constexpr std::size_t most_texts = 6;
  std::vector<std::string> texts = column.texts;
  if (texts.size() > most_texts) {
    texts.resize(most_texts - 1);
    texts.push_back(fmt::format("and {} more", column.texts.size() - texts.size()));
  }
  std::string what = fmt::format("{}: {}", counted(column.texts.size(), "text"), fmt::join(texts, ", "));
  if (texts.empty()) {
    what = fmt::format("numbers, mean {:.6g}, deviation {:.6g}", column.mean, column.deviation);
  }
  return without_control_characters(
      fmt::format("{}: {}{}", column.name, what, column.gaps ? "; cells without value" : ""));
}

std::string text_of(const std::vector<TableColumn>& columns) {
  constexpr std::size_t most = 50;
  std::string text = "columns of features:\n";
  for (std::size_t i = 0; i < std::min(columns.size(), most); ++i) {
    text += fmt::format("       {}\n", text_of(columns[i]));
  }
  if (columns.size() > most) text += fmt::format("       and {} more (--json: all)\n", columns.size() - most);
  return text;
}

NumberStatistics measure_numbers(const Dataset& dataset) {
  const TargetScale scale = dataset.target_scale();
  const auto number = [&](std::uint64_t id) { return table_number(dataset.targets(id)[0], scale); };
  const auto count = static_cast<double>(dataset.size());
  NumberStatistics found{.smallest = number(0), .largest = number(0)};
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    found.mean += number(id) / count;
    found.smallest = std::min(found.smallest, number(id));
    found.largest = std::max(found.largest, number(id));
  }
  double squares = 0.0;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    squares += (number(id) - found.mean) * (number(id) - found.mean);
  }
  found.deviation = std::sqrt(squares / count);
  return found;
}

DatasetPart describe(const std::string& name, const Dataset& dataset) {
  DatasetPart part{.part = name,
                   .task = dataset.task(),
                   .samples = dataset.size(),
                   .shape = dataset.shape(),
                   .classes = names_of_classes(dataset, dataset.classes())};
  if (part.task == Task::regression) {
    part.numbers = measure_numbers(dataset);
  } else {
    part.class_samples = count_classes(dataset);
  }
  return part;
}

std::string text_of(const DatasetPart& part, Encoding encoding) {
  const std::string what =
      encoding == Encoding::floats
          ? fmt::format("{} of {}", counted(part.samples, "sample"), counted(part.shape.size(), "number"))
          : fmt::format("{} of {}", counted(part.samples, "image"), value_text(part.shape));
  const std::string start = fmt::format("{:<6} {}, ", part.part, what);
  if (part.numbers) {
    const auto& [mean, deviation, smallest, largest] = *part.numbers;
    return start + fmt::format("number to predict: {}\n       {:.5g} to {:.5g}, mean {:.5g}, std {:.5g}\n",
                               printable(part.classes[0]), smallest, largest, mean, deviation);
  }
  return start + counted(part.class_samples.size(), part.task == Task::multilabel ? "label" : "class") +
         ":\n" + class_counts_text(part.classes, part.class_samples, 7);
}

PartStatistics measure_statistics(const std::string& part, const Dataset& dataset,
                                  const DataOptions& options) {
  const auto on_bad = [&](const std::string& line) {
    if (options.input.strict) throw Error(Category::data, line);
    print_warning(line);
  };
  const DatasetStatistics found =
      measure_dataset(dataset, options.input, part == "train" ? options.augment : AugmentOptions{}, on_bad);
  PartStatistics statistics{.mean = found.channels.mean,
                            .deviation = found.channels.deviation,
                            .read = found.read,
                            .unreadable = found.bad,
                            .samples_per_s = static_cast<double>(found.read) / std::max(found.seconds, 1e-9)};
  if (dataset.encoding() == Encoding::image_file && found.read > 0) {
    statistics.widths = {found.min_width, found.max_width};
    statistics.heights = {found.min_height, found.max_height};
  }
  return statistics;
}

std::string text_of(const std::string& part, Encoding encoding, const PartStatistics& statistics) {
  std::string text = fmt::format("{:<6} mean {:.4f}  std {:.4f}\n", part, fmt::join(statistics.mean, ","),
                                 fmt::join(statistics.deviation, ","));
  if (statistics.widths) {
    text += fmt::format("{:<6} widths {}, heights {} pixels\n", part, fmt::join(*statistics.widths, " to "),
                        fmt::join(*statistics.heights, " to "));
  }
  return text + fmt::format("{:<6} {} read, {} not readable, {:.0f} {} on one thread\n", part,
                            statistics.read, statistics.unreadable, statistics.samples_per_s,
                            speed_unit(kind_of(encoding)));
}

DatasetPart examine(const std::string& name, const Dataset& dataset, const DataOptions& options,
                    const ResultPrinter& printer) {
  DatasetPart part = describe(name, dataset);
  print_warnings(dataset.warnings());
  if (name == "train") print_warning(similar_classes_text(dataset));
  printer.text(text_of(part, dataset.encoding()));
  if (options.action == "stats") {
    part.statistics = measure_statistics(name, dataset, options);
    printer.text(text_of(name, dataset.encoding(), *part.statistics));
  }
  return part;
}

int print_data(World& world, const DataOptions& options) {
  world.agree([&] {
    if (options.results.json && options.action == "order")
      throw Error(Category::usage, "order prints ids, one per line, and has no JSON", "json");
    cpu::best_level();  // throws on a processor without the instructions for resizing
  });
  const DatasetPair data = open_dataset(world, options.data);
  if (world.rank() != 0) {
    return 0;
  }
  if (options.action == "order") {
    print_order(*data.train, options);
    return 0;
  }
  const ResultPrinter printer(options.results, true);
  DatasetResults results{{examine("train", *data.train, options, printer)}};
  if (data.validation) results.parts.push_back(examine("validation", *data.validation, options, printer));
  results.parts.push_back(examine("test", *data.test, options, printer));
  if (const TableEncoding* table = data.train->table_encoding()) {
    results.columns = table->columns;
    printer.text(label_column_text(*data.train, options.data) + "\n" + text_of(table->columns));
  }
  printer.finish(results);
  return 0;
}

}  // namespace

constinit const Command data_command = command_of_ranks<DataOptions, option_set, print_data>(
    "data", "show a data set, its statistics or its order");

}  // namespace lockstep
