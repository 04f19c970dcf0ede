#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/option_set.h"
#include "cli/options.h"
#include "lockstep/dataset.h"
#include "lockstep/models.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

struct EvalOptions {
  std::string file;
  std::string model = "lenet";
  std::string dataset = "fashion-mnist";
  std::string data_directory;
  std::string split = "test";
  int batch_size = 256;
  int threads = 0;
  std::string simd = "auto";
};

OptionSet declare(EvalOptions& options) {
  OptionSet set("lockstep eval [options] MODEL.safetensors",
                "Measures loss and accuracy of a saved model: every sample once, spread over all ranks.");
  set.positional("MODEL.safetensors", "parameters, as --save-model writes them", options.file);
  set.group("Model and data");
  set.choice("model", "the network that the parameters are for", options.model, model_names());
  set.choice("dataset", "data set to measure on", options.dataset, dataset_names());
  set.text("data-dir", "DIR", "where its files are; empty: where the system keeps them",
           options.data_directory);
  set.choice("split", "which part of the data set", options.split, {"test", "train"});
  set.group("Execution");
  set.integer("batch-size", "N", "as in training: its micro-batches are the parts of the sum",
              options.batch_size, {.least = 1, .most = 1 << 20});
  set.integer("threads", "N", "executors of each rank; 0: the rank's share of the cores", options.threads,
              {.least = 0, .most = 4096});
  set.text("simd", "LEVEL", "instruction set: auto, avx2, avx512, neon; the bits are the same", options.simd);
  set.config_file();
  set.pass_over(train_option_names());
  set.epilogue("Example:\n  mpirun -np 2 lockstep eval --model lenet lenet.safetensors\n");
  return set;
}

int evaluate(World& world, const EvalOptions& options) {
  const DatasetPair data = open_dataset(world, options.dataset, options.data_directory);
  const Dataset& dataset = options.split == "test" ? *data.test : *data.train;
  const auto network = make_model(options.model, dataset.shape(), dataset.classes());
  Trainer trainer(world, *network, *data.train, dataset,
                  {.batch_size = options.batch_size, .threads = options.threads, .simd = options.simd});
  std::optional<ModelFile> file;
  world.agree([&] { file = ModelFile::read(options.file); });
  trainer.load(*file);
  const Evaluation result = trainer.evaluate(dataset);
  if (world.rank() == 0) {
    fmt::print("{} loss {:.4f}  {} acc {:.4f}  samples {}\ndigest {}\n", options.split, result.loss,
               options.split, result.accuracy, result.samples, trainer.digest());
  }
  return 0;
}

}  // namespace

int run_eval(int argc, char** argv) {
  EvalOptions options;
  OptionSet set = declare(options);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  return run_program(argc, argv, [&](World& world) {
    world.agree([&] { set.parse(argc, argv, environ); });
    return evaluate(world, options);
  });
}

}  // namespace lockstep
