#include "cli/bench.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/options.h"
#include "core/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct Bench {
  const char* name;
  int (*run)(World& world, const BenchOptions& options);
};
constexpr std::array benches = {Bench{"allreduce", bench_allreduce}, Bench{"data", bench_data},
                                Bench{"step", bench_step}};

const Bench& find_bench(const std::string& name) {
  const auto* found = std::ranges::find(benches, name, &Bench::name);
  if (found == benches.end()) {
    std::vector<std::string> known;
    for (const Bench& bench : benches) known.emplace_back(bench.name);
    throw Error(Category::usage, unknown_name("measurement", name, known));
  }
  return *found;
}

OptionSet declare(BenchOptions& options) {
  OptionSet set(
      "lockstep bench allreduce|data|step [options]",
      "allreduce: time and bus bandwidth of summing gradients over the ranks, canonical (the same bits "
      "on any number of ranks) beside ring (the MPI library's allreduce). data: images/s of reading the "
      "training set with its augmentations, and for image files of decoding alone (libjpeg-turbo, the same "
      "parts at the same scale), which is the most that reading can reach. step: images/s of training "
      "steps, and where their time goes.");
  set.positional("allreduce|data|step", "what to measure", options.what);
  set.group("Model (step) and data (data, step)");
  declare_model(set, "network", options.model);
  declare_data(set, options.dataset, options.data);
  declare_input(set, options.input);
  declare_augmentation(set, options.input.augment);
  declare_batch(set, options.batch_size, options.micro_batches);
  set.group("Execution");
  declare_reduce(set, options.reduce);
  declare_execution(set, options.execution);
  set.integer("steps", "N", "steps to measure (data, step)", options.steps, {.least = 1, .most = 1000000});
  set.integer("rounds", "N", "repetitions of each size (allreduce); the median is printed", options.rounds,
              {.least = 1, .most = 100000});
  set.config_file();
  set.pass_over(train_option_names());
  set.epilogue(
      "Examples:\n  mpirun -np 2 lockstep bench allreduce\n  mpirun -np 2 lockstep bench step\n"
      "  lockstep bench data --dataset images --data-dir DIR --random-resized-crop --threads 1\n");
  return set;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int run_bench(int argc, char** argv) {
  BenchOptions options;
  OptionSet set = declare(options);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  return run_program(argc, argv, [&](World& world) {
    const Bench* bench = nullptr;
    world.agree([&] {
      set.parse(argc, argv, environ);
      bench = &find_bench(options.what);
    });
    return bench->run(world, options);
  });
}

}  // namespace lockstep
