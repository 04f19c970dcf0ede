#include "cli/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

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
                                Bench{"ops", bench_ops}, Bench{"step", bench_step}};

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
      "lockstep bench allreduce|data|ops|step [options]",
      "allreduce: time and bus bandwidth of summing gradients over the ranks, canonical (the same bits "
      "on any number of ranks) beside ring (the allreduce of MPI, or of NCCL between GPUs), and the quotient "
      "of their times; canonical includes a copy of the rank's part of the sum. data: images/s of reading "
      "the training set with its augmentations, and for image files of decoding alone (libjpeg-turbo, the "
      "same parts at the same scale), which is the most that reading can reach. ops: time and GFLOP/s of "
      "each operation of a network, forward and backward, on one micro-batch and one rank. step: images/s "
      "of training steps, and where their time goes.");
  set.positional("allreduce|data|ops|step", "what to measure", options.what);
  set.group("Model (ops, step) and data (data, ops, step)");
  declare_model(set, "network", options.model);
  declare_data(set, options.dataset, options.data);
  declare_input(set, options.input);
  declare_augmentation(set, options.input.augment);
  declare_batch(set, options.batch_size, options.micro_batches);
  set.group("Steps (step; data takes --steps only)");
  set.integer("steps", "N", "steps to measure", options.steps, {.min = 1, .max = 1000000});
  declare_reduce(set, options.reduce);
  set.group("Repetitions (allreduce, ops)");
  set.integer("rounds", "N", "repetitions of each size or operation; the median is printed", options.rounds,
              {.min = 1, .max = 100000});
  set.group("Execution (allreduce, ops: one thread per rank)");
  declare_execution(set, options.execution);
  set.config_file();
  set.pass_over(train_option_names());
  set.epilogue(
      "Examples:\n  mpirun -np 2 lockstep bench allreduce\n  mpirun -np 2 lockstep bench step\n"
      "  lockstep bench ops --model resnet18-d2l --device cuda --dtype bf16\n"
      "  lockstep bench data --dataset images --data-dir DIR --random-resized-crop --threads 1\n");
  return set;
}

}  // namespace

std::uint32_t micro_batches(const BenchOptions& options, const std::string& device) {
  if (options.micro_batches == 0) {
    return static_cast<std::uint32_t>(default_micro_batches(static_cast<int>(options.batch_size), device));
  }
  if (options.batch_size % options.micro_batches != 0) {
    throw Error(Category::usage, fmt::format("a batch of {} cannot be cut into {} equal micro-batches",
                                             options.batch_size, options.micro_batches));
  }
  return options.micro_batches;
}

ProgramTimer::ProgramTimer(Device& device)
    : device_(device), looked_at_(device.allocate(sizeof(std::uint32_t))) {}

double ProgramTimer::seconds(Program& program, int runs) {
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < runs; ++run) program.run();
  std::uint32_t seen = 0;  // a copy is done after all programs
  device_.copy(&seen, looked_at_.data(), sizeof seen);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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
