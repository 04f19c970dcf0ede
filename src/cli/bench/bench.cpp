#include "cli/bench/bench.h"

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "comm/world/check_same.h"
#include "core/clock.h"

namespace lockstep {

template <OptionsOf<BenchOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [what, model, data, input, augment, batch, reduce, execution, steps, rounds,
                          kernel_times, results] = options;
  field(steps, {.name = "steps",
                .help = "step, data: number of steps to measure",
                .group = "Measurement",
                .range = {.min = 1, .max = 1000000},
                .scope = Scope::protocol});
  field(rounds, {.name = "rounds",
                 .help = "allreduce, ops: number of repetitions, of which the median is printed",
                 .range = {.min = 1, .max = 100000},
                 .scope = Scope::protocol});
  field(kernel_times, {.name = "kernel-times",
                       .help = "step on a GPU: time of each kernel, copy and operation of a library, by "
                               "events before and after each",
                       .scope = Scope::protocol,
                       .needs = {{"cuda-graph", {"off"}}},
                       .device = "cuda"});
  visit(results, field);
  visit(model, field);
  visit(data, field);
  visit(input, field);
  visit(augment, field);
  visit(batch, field);
  visit(reduce, field);
  visit(execution, field);
}

namespace {

OptionSet option_set(BenchOptions& options) {
  OptionSet set(
      "lockstep bench allreduce|data|ops|step [options]",
      "allreduce: time and bus bandwidth of summing gradients over the ranks, canonical (the same bits "
      "on any number of ranks) and by the ring (the allreduce of MPI, or of NCCL between GPUs), and the "
      "ratio of their times; canonical includes a copy of the rank's slice of the sum; one thread per rank.\n"
      "data: images/s of reading the training set with augmentations; for image files also of decoding "
      "alone (libjpeg-turbo, the same parts at the same scale), the upper limit.\n"
      "ops: time and GFLOP/s of each operation of a network, forward and backward, for one micro-batch on "
      "one rank with one thread.\n"
      "step: images/s of training, and time by part of the step, or of each kernel on a GPU.");
  set.choice("measurement", {"allreduce", "data", "ops", "step"}, "what to measure", options.what);
  set.add(options);
  set.config_file();
  set.epilogue(
      "Examples:\n  lockstep-run -np 2 bench allreduce\n  lockstep-run -np 2 bench step\n"
      "  lockstep bench ops --model resnet18-d2l --device cuda --dtype bf16\n"
      "  lockstep bench step --device cuda --cuda-graph off --kernel-times\n"
      "  lockstep bench data --dataset images --data-dir packed --random-resized-crop --threads 1\n");
  return set;
}

int run_bench(World& world, const BenchOptions& options) {
  static const std::map<std::string, int (*)(World&, const BenchOptions&)> benches = {
      {"allreduce", bench_allreduce}, {"data", bench_data}, {"ops", bench_ops}, {"step", bench_step}};
  check_same(world, {{"measurement", options.what}});
  return benches.at(options.what)(world, options);
}

}  // namespace

ProgramTimer::ProgramTimer(Device& device)
    : device_(device), looked_at_(device.allocate(sizeof(std::uint32_t))) {}

double ProgramTimer::seconds(Program& program, int runs) {
  const double start = steady_seconds();
  for (int run = 0; run < runs; ++run) program.run();
  std::uint32_t seen = 0;  // the copy waits for all programs
  device_.copy(&seen, looked_at_.data(), sizeof seen);
  return steady_seconds() - start;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constinit const Command bench_command = command_of_ranks<BenchOptions, option_set, run_bench>(
    "bench", "measure training steps, operations, reading and the exchange of gradients");

}  // namespace lockstep
