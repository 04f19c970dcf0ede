#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/class_names.h"
#include "cli/commands.h"
#include "cli/data_warnings.h"
#include "cli/output.h"
#include "cli/train/train_options.h"
#include "core/message.h"
#include "core/nearest.h"
#include "data/sets/dataset_statistics.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/sampler.h"
#include "lockstep/world.h"
#include "ops/cpu/op.h"

namespace lockstep {
namespace {

struct DataOptions {
  std::string action;
  DatasetOptions data;
  InputOptions input;
  AugmentOptions augment;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 1;
};

template <OptionsOf<DataOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [action, data, input, augment, seed, epoch] = options;
  visit(data, field);
  visit(input, field);
  visit(augment, field);
  field(seed, {.name = "seed", .help = "order: seed of the run", .group = "Data"});
  field(epoch, {.name = "epoch", .help = "order: number of the epoch", .range = {.min = 1}});
}

OptionSet option_set(DataOptions& options) {
  OptionSet set(
      "lockstep data order|show|stats [options] (or: lockstep data pack --help)",
      "order: prints the ids of the training samples, one per line, in the order in which an epoch visits "
      "them.\n"
      "show: prints the number of samples, in all and of each class.\n"
      "stats: as show; also reads all samples, the training samples with the augmentations that are given, "
      "and "
      "prints the mean and standard deviation of each channel (for --mean and --std), the sizes of the "
      "images, the files that cannot be read (with --strict: ends at the first), and how many samples one "
      "thread reads per second.");
  set.positional("order|show|stats", "what to print", options.action);
  set.add(options);
  set.config_file();
  set.ignore(train_option_names());
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

void print_statistics(const std::string& part, const Dataset& dataset, const DataOptions& options) {
  const auto on_bad = [&](const std::string& line) {
    if (options.input.strict) throw Error(Category::data, line);
    print_warning(line);
  };
  const DatasetStatistics found =
      measure_dataset(dataset, options.input, part == "train" ? options.augment : AugmentOptions{}, on_bad);
  print(fmt::format("{:<6} mean {:.4f}  std {:.4f}\n", part, fmt::join(found.mean, ","),
                    fmt::join(found.deviation, ",")));
  if (dataset.encoding() == Encoding::image_file && found.read > 0) {
    print(fmt::format("{:<6} widths {} to {}, heights {} to {} pixels\n", part, found.min_width,
                      found.max_width, found.min_height, found.max_height));
  }
  print(fmt::format("{:<6} {} read, {} not readable, {:.0f} {}/s on one thread\n", part, found.read,
                    found.bad, static_cast<double>(found.read) / std::max(found.seconds, 1e-9),
                    dataset.encoding() == Encoding::floats ? "samples" : "img"));
}

void print_part(const std::string& part, const Dataset& dataset, const DataOptions& options) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(dataset.classes()));
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    ++counts[static_cast<std::size_t>(dataset.label(id))];
  }
  print_warning(dataset.skipped_files());
  const Shape shape = dataset.shape();
  const std::string what = dataset.encoding() == Encoding::floats
                               ? fmt::format("samples of {} numbers", shape.size())
                               : fmt::format("images of {}x{}x{}", shape.channels, shape.height, shape.width);
  print(fmt::format("{:<6} {} {}, {} classes:\n", part, dataset.size(), what, counts.size()));
  print(class_counts_text(names_of_classes(dataset, counts.size()), counts, 7));
  if (options.action == "stats") {
    print_statistics(part, dataset, options);
  }
}

int print_data(World& world, const DataOptions& options) {
  const std::vector<std::string> actions{"order", "show", "stats"};
  if (std::ranges::find(actions, options.action) == actions.end()) {
    world.agree(
        [&] { throw Error(Category::usage, unknown_name("thing to print", options.action, actions)); });
  }
  world.agree([] { cpu::best_level(); });  // throws on a processor without the instructions for resizing
  const DatasetPair data = open_dataset(world, options.data);
  if (world.rank() != 0) {
    return 0;
  }
  if (options.action == "order") {
    print_order(*data.train, options);
  } else {
    print_part("train", *data.train, options);
    if (data.validation) print_part("validation", *data.validation, options);
    print_part("test", *data.test, options);
  }
  return 0;
}

}  // namespace

int run_data(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "pack") {
    return run_data_pack(argc - 1, argv + 1);
  }
  DataOptions options;
  OptionSet set = option_set(options);
  return run_on_ranks(set, argc, argv, [&](World& world) { return print_data(world, options); });
}

}  // namespace lockstep
