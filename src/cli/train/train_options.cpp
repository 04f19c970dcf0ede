#include "cli/train/train_options.h"

#include "cli/commands.h"
#include "cli/model/find_checkpoints.h"
#include "cli/recipes/recipes.h"
#include "run/tensorboard/event_records.h"

namespace lockstep {
namespace {

constexpr const char* examples =
    R"(Examples:
  Train LeNet on Fashion-MNIST and keep a record of the run:
    lockstep train --lr 0.2 --run-dir runs/lenet

  Repeat the run on 2 ranks; it ends with the same digest:
    lockstep-run -np 2 train --config runs/lenet/options.cfg --run-dir runs/lenet-2

  Train another network by another recipe, without data files:
    lockstep train --dataset synthetic --model resnet20 --epochs 1 --sched cosine --momentum 0.9
)";

constexpr const char* sources =
    R"(Defaults are in brackets. Numbers are at least 0 unless a range is given.
Every option can also be set as NAME = value in a --config file, for example the options.cfg of a
run, or as LOCKSTEP_NAME in the environment (--batch-size: LOCKSTEP_BATCH_SIZE). The command line
takes precedence over the environment, the environment over --config, --config over the
options.cfg of a run that --resume continues, and that over a recipe.

Exit status: 0 done; 2 wrong usage; 3 bad input data; 4 missing or failing device or resource;
5 another rank failed; 70 a defect; 75 stopped by a signal or --max-time, continue with --resume.
)";

/// Default recipe for the user's data; empty: none.
std::string default_recipe(const OptionSet::Given& given) {
  const std::string dataset = given("dataset");
  if (dataset == "csv") return "table";
  if (dataset != "images") return {};
  return given("init-from").empty() ? "photos" : "finetune";
}

}  // namespace

Names recipe_choices() {
  Names names{"auto", "none"};
  for (const Recipe& recipe : recipes()) names.emplace_back(recipe.name);
  return names;
}

OptionSet train_option_set(TrainOptions& options) {
  OptionSet set(
      "lockstep train [options]",
      "Trains a classifier on all ranks (started by lockstep-run, mpirun or srun; without them, one "
      "process is the only rank). Prints a digest, a hash of the trained parameters. They depend on the "
      "model, the data, the seed and the training options, not on the number of ranks, hosts or threads.");
  set.prologue(examples);
  set.accept_by_data();
  set.add(options);
  set.config_file();
  const auto options_of_run = [](const std::string& run) { return find_options(run).string(); };
  set.config_of("resume", options_of_run);
  set.recipes("recipe", default_recipe, recipe_text);
  set.ignore_variables(is_option);
  set.epilogue(sources);
  set.check([&options] {
    if (options.training.batch.size != by_data<int>) {
      micro_batches_of(options.training.batch, DeviceKind::cpu);
    }
    if (options.output.tensorboard) tensorboard::check_available();
    if (options.data.name == "synthetic" && !options.data.directory.empty())
      throw Error(Category::usage, "has no effect with --dataset synthetic: omit it", "data-dir");
  });
  return set;
}

std::string train_config(const TrainOptions& options) {
  TrainOptions copy = options;
  copy.output.progress = ProgressLine::automatic;  // depends on the terminal, not on the run
  copy.output.run_directory = OutputOptions().run_directory;
  copy.recipe = TrainOptions().recipe;  // the recipe's options are recorded
  copy.resume.clear();
  copy.force = false;
  return train_option_set(copy).config();
}

std::vector<std::string> train_option_names() {
  TrainOptions options;
  return train_option_set(options).names();
}

}  // namespace lockstep
