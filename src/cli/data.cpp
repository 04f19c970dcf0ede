#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/nearest.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/sampler.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

struct DataOptions {
  std::string action;
  std::string dataset = "fashion-mnist";
  DatasetOptions data;
  std::uint64_t seed = 0;
  std::uint32_t epoch = 1;
};

OptionSet declare(DataOptions& options) {
  OptionSet set(
      "lockstep data order|show [options]",
      "order: prints the sample ids of the training set in the order in which an epoch visits them, "
      "one per line. show: sizes of the data set and samples of each class.");
  set.positional("order|show", "what to print", options.action);
  set.group("Data");
  declare_data(set, options.dataset, options.data);
  set.integer("seed", "N", "the run's seed", options.seed);
  set.integer("epoch", "N", "epoch, from 1", options.epoch, {.least = 1, .most = 0xFFFFFFFF});
  set.config_file();
  set.pass_over(train_option_names());
  set.epilogue("Example:\n  lockstep data order --dataset fashion-mnist --seed 0 --epoch 1 | head -3\n");
  return set;
}

void print_order(const Dataset& train, const DataOptions& options) {
  const Permutation order(train.size(), options.seed, options.epoch - 1);
  for (std::uint64_t position = 0; position < train.size(); ++position) {
    print(fmt::format("{}\n", order(position)));
  }
}

void print_part(const char* part, const Dataset& dataset) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(dataset.classes()));
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    ++counts[static_cast<std::size_t>(dataset.label(id))];
  }
  const Shape shape = dataset.shape();
  print(fmt::format("{:<6} {} images of {}x{}x{}, {} classes: {}\n", part, dataset.size(), shape.channels,
                    shape.height, shape.width, dataset.classes(), fmt::join(counts, " ")));
}

int print_data(World& world, const DataOptions& options) {
  const std::vector<std::string> actions{"order", "show"};
  if (options.action != "order" && options.action != "show") {
    world.agree(
        [&] { throw Error(Category::usage, unknown_name("thing to print", options.action, actions)); });
  }
  const DatasetPair data = open_dataset(world, options.dataset, options.data);
  if (world.rank() != 0) {
    return 0;
  }
  if (options.action == "order") {
    print_order(*data.train, options);
  } else {
    print_part("train", *data.train);
    print_part("test", *data.test);
  }
  return 0;
}

}  // namespace

int run_data(int argc, char** argv) {
  DataOptions options;
  OptionSet set = declare(options);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  return run_program(argc, argv, [&](World& world) {
    world.agree([&] { set.parse(argc, argv, environ); });
    return print_data(world, options);
  });
}

}  // namespace lockstep
