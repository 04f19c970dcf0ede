#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/nearest.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"
#include "reduce/reducer.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string what;
  std::string model = "lenet";
  std::string dataset = "fashion-mnist";
  DatasetOptions data;
  InputOptions input;
  std::uint32_t batch_size = 256;
  std::uint32_t micro_batches = 0;
  std::uint32_t threads = 0;
  Transport transport = Transport::automatic;
  std::string simd = "auto";
  int steps = 200;
  int rounds = 21;
};

OptionSet declare(BenchOptions& options) {
  OptionSet set(
      "lockstep bench allreduce|step [options]",
      "allreduce: time and bus bandwidth of summing gradients over the ranks, canonical (the same bits "
      "on any number of ranks) beside ring (the MPI library's allreduce). step: images/s of training "
      "steps, and where their time goes.");
  set.positional("allreduce|step", "what to measure", options.what);
  set.group("Model and data (step)");
  declare_model(set, "network", options.model);
  declare_data(set, options.dataset, options.data);
  declare_input(set, options.input);
  declare_augmentation(set, options.input.augment);
  declare_batch(set, options.batch_size, options.micro_batches);
  set.group("Execution");
  declare_execution(set, options.threads, options.transport, options.simd);
  set.integer("steps", "N", "steps to measure", options.steps, {.least = 1, .most = 1000000});
  set.integer("rounds", "N", "repetitions of each size (allreduce); the median is printed", options.rounds,
              {.least = 1, .most = 100000});
  set.config_file();
  set.pass_over(train_option_names());
  set.epilogue("Examples:\n  mpirun -np 2 lockstep bench allreduce\n  mpirun -np 2 lockstep bench step\n");
  return set;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median over the rounds of the slowest rank's time of `work`.
double measure(Communicator& communicator, int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  const std::vector<std::size_t> bytes(static_cast<std::size_t>(communicator.size()), sizeof(double));
  std::vector<double> all(bytes.size());
  for (int round = -2; round < rounds; ++round) {  // two rounds to warm up
    communicator.barrier();
    const auto start = Clock::now();
    work();
    const double own = std::chrono::duration<double>(Clock::now() - start).count();
    communicator.all_gather_bytes(std::as_bytes(std::span(&own, 1)), bytes,
                                  std::as_writable_bytes(std::span(all)));
    if (round >= 0) {
      seconds.push_back(*std::max_element(all.begin(), all.end()));
    }
  }
  return median(seconds);
}

/// Seconds to sum `elements` floats of every rank and have the sum on every rank, in memory as a run's.
double measure_reduce(const World& world, const BenchOptions& options, Reduce way, std::size_t elements) {
  const auto communicator = make_communicator(world, options.transport);
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const std::vector<Buffer> gradient = allocate_arenas(*communicator, *device, 1, elements);
  Buffer sums = communicator->common_arena(elements);
  if (sums.data() == nullptr) sums = device->allocate(elements * sizeof(float));
  const std::span<float> own = gradient.front().floats(), total = sums.floats();
  std::ranges::fill(own, 1.0F);
  if (way == Reduce::ring) {
    return measure(*communicator, options.rounds, [&] { communicator->all_reduce(own); });
  }
  const auto leaves = static_cast<std::uint32_t>(communicator->size());
  const auto rank = static_cast<std::uint32_t>(communicator->rank());
  const auto reducer = make_canonical_reducer(
      *communicator,
      {total, assign(leaves, communicator->size(), communicator->rank(), 1), {{{rank, 0}, own.data()}}});
  const Reducer::Apply keep = [&](std::size_t begin, std::span<const float> sum) {
    std::ranges::copy(sum, total.subspan(begin).begin());
  };
  return measure(*communicator, options.rounds, [&] { reducer->reduce(keep); });
}

int bench_allreduce(World& world, const BenchOptions& options) {
  const std::string exchange = make_communicator(world, options.transport)->name();
  const double ranks = world.size();
  if (world.rank() == 0) {
    print(fmt::format(
        "ranks {}  exchange {}\n{:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>9}\n{:>9}  {:>10}  {:>10}  {:>10}  "
        "{:>10}\n",
        world.size(), exchange, "bytes", "ring", "ring", "canonical", "canonical", "speed-up", "", "us",
        "GB/s", "us", "GB/s"));
  }
  constexpr std::size_t sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
                                   4 << 20, 16 << 20, 44 << 20, 64 << 20};
  for (const std::size_t bytes : sizes) {
    const double ring = measure_reduce(world, options, Reduce::ring, bytes / sizeof(float));
    const double canonical = measure_reduce(world, options, Reduce::canonical, bytes / sizeof(float));
    const double bus = 2.0 * (ranks - 1.0) / ranks * static_cast<double>(bytes) * 1e-9;
    if (world.rank() == 0) {
      print(fmt::format("{:>9}  {:>10.1f}  {:>10.2f}  {:>10.1f}  {:>10.2f}  {:>9.2f}\n", bytes, ring * 1e6,
                        bus / ring, canonical * 1e6, bus / canonical, ring / canonical));
      flush_output();
    }
  }
  return 0;
}

void print_times(const std::vector<StepTimes>& times, int threads) {
  const auto row = [&](const char* name, double StepTimes::*part, double share) {
    std::vector<double> values;
    std::transform(times.begin(), times.end(), std::back_inserter(values),
                   [&](const StepTimes& step) { return step.*part * share; });
    std::vector<double> totals;
    std::transform(times.begin(), times.end(), std::back_inserter(totals),
                   [](const StepTimes& step) { return step.total; });
    const double middle = median(values);
    print(
        fmt::format("{:<10}  {:>10.1f}  {:>5.1f} %\n", name, middle * 1e6, 100.0 * middle / median(totals)));
  };
  print(fmt::format("{:<10}  {:>10}  {:>7}\n", "part", "us/step", "share"));
  const double executor_share = 1.0 / threads;
  row("load", &StepTimes::load, executor_share);
  row("forward", &StepTimes::forward, executor_share);
  row("backward", &StepTimes::backward, executor_share);
  row("fold", &StepTimes::fold, executor_share);
  row("reduce", &StepTimes::reduce, 1.0);
  row("update", &StepTimes::update, 1.0);
  row("step", &StepTimes::total, 1.0);
}

/// Seconds since this process was started (resolution: 10 ms). The 22nd field of /proc/self/stat, the 20th
/// after the name, is when, in ticks after boot.
double process_seconds() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  double started = 0.0;
  for (int i = 0; i < 19; ++i) fields >> text;
  fields >> started;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         started / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

int bench_step(World& world, const BenchOptions& options) {
  const DatasetPair data = open_dataset(world, options.dataset, options.data);
  std::unique_ptr<Network> network;
  world.agree([&] { network = make_model(options.model, data.train->shape(), data.train->classes()); });
  Trainer trainer(world, *network, *data.train, *data.test,
                  {.batch_size = static_cast<int>(options.batch_size),
                   .micro_batches = static_cast<int>(options.micro_batches),
                   .learning_rate = 0.01F,
                   .input = options.input,
                   .threads = static_cast<int>(options.threads),
                   .transport = options.transport,
                   .simd = options.simd});
  trainer.step();
  const double first_step = process_seconds();
  for (int warm_up = 1; warm_up < 5; ++warm_up) {
    trainer.step();
  }
  std::vector<StepTimes> times;
  std::uint64_t samples = 0;
  world.barrier();
  const auto start = Clock::now();
  for (int step = 0; step < options.steps; ++step) {
    times.push_back(trainer.step());
    samples += times.back().samples;
  }
  world.barrier();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (world.rank() == 0) {
    print(fmt::format("ranks {}  threads {}  simd {}  exchange {}  batch {} = {} micro-batches of {}\n",
                      world.size(), trainer.threads(), trainer.simd(), trainer.transport(),
                      options.batch_size, trainer.micro_batches(),
                      static_cast<int>(options.batch_size) / trainer.micro_batches()));
    print_times(times, trainer.threads());
    print(
        fmt::format("first step  {:.0f} ms after the start of the process, data decompressed\n"
                    "memory      {:.0f} MB at most (rank 0)\n{:.0f} img/s\n",
                    first_step * 1e3, peak_megabytes(), static_cast<double>(samples) / seconds));
  }
  return 0;
}

}  // namespace

int run_bench(int argc, char** argv) {
  BenchOptions options;
  OptionSet set = declare(options);
  if (wants_help(argc, argv)) {
    return print_help(set.help());
  }
  return run_program(argc, argv, [&](World& world) {
    world.agree([&] {
      set.parse(argc, argv, environ);
      const std::vector<std::string> known{"allreduce", "step"};
      if (std::find(known.begin(), known.end(), options.what) == known.end()) {
        throw Error(Category::usage, unknown_name("measurement", options.what, known));
      }
    });
    return options.what == "step" ? bench_step(world, options) : bench_allreduce(world, options);
  });
}

}  // namespace lockstep
