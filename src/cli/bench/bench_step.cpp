#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/bench/bench.h"
#include "cli/output.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "lockstep/trainer.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

/// Prints medians over steps (CUDA: over groups of steps). Omits parts that take no time or were not
/// measured.
void print_times(const std::vector<StepTimes>& times, int threads) {
  const auto middle = [&](double StepTimes::*part) {
    std::vector<double> values;
    std::ranges::transform(times, std::back_inserter(values),
                           [&](const StepTimes& group) { return group.*part / group.steps; });
    return median(values);
  };
  const double total = middle(&StepTimes::total);
  const bool by_part = times.front().by_part;
  const std::string load = by_part ? "load" : "waiting for samples";
  const std::size_t width = std::max<std::size_t>(10, load.size());
  const auto row = [&](std::string_view name, double StepTimes::*part, double share) {
    const double seconds = middle(part) * share;
    if (seconds == 0.0) return;
    print(
        fmt::format("{:<{}}  {:>10.1f}  {:>5.1f} %\n", name, width, seconds * 1e6, 100.0 * seconds / total));
  };
  print(fmt::format("{:<{}}  {:>10}  {:>7}\n", "part", width, "us/step", "share"));
  const double executor_share = 1.0 / threads;
  row(load, &StepTimes::load, executor_share);
  row("forward", &StepTimes::forward, executor_share);
  row("backward", &StepTimes::backward, executor_share);
  row("fold", &StepTimes::fold, executor_share);
  row("reduce", &StepTimes::reduce, 1.0);
  row("update", &StepTimes::update, 1.0);
  row("step", &StepTimes::total, 1.0);
}

/// Seconds since the start of this process (resolution: 10 ms). The start is the 22nd field of
/// /proc/self/stat, the 20th after the name, in ticks since boot.
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

/// Seconds that all threads of this process have computed.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void print_header(const World& world, const Trainer& trainer, const BenchOptions& options) {
  print(fmt::format("ranks {}  threads {}  processor {}  exchange {}  batch {} = {} micro-batches of {}\n",
                    world.size(), trainer.threads(), trainer.processor(), trainer.transport(),
                    options.batch.size, trainer.micro_batches(),
                    options.batch.size / trainer.micro_batches()));
}

/// Prints what a step launches, on average. launcher/gpu-check/speed.sh reads the lines.
void print_kernels(const KernelTimes& times, int steps) {
  const std::vector<KernelTime> kernels = times.kernels();
  KernelTime sum;
  for (const KernelTime& kernel : kernels) {
    sum.seconds += kernel.seconds;
    sum.launches += kernel.launches;
  }
  const auto of_step = [&](std::uint64_t launches) { return static_cast<double>(launches) / steps; };
  print(fmt::format("sum {:.2f} us {:.1f} launches a step\n", sum.seconds * 1e6 / steps,
                    of_step(sum.launches)));
  for (const KernelTime& kernel : kernels) {
    print(fmt::format("{:>10.2f} us {:>8.1f} launches  {}\n", kernel.seconds * 1e6 / steps,
                      of_step(kernel.launches), kernel.name));
  }
  print(fmt::format("between launches {:.2f} us a step\n", times.between() * 1e6 / steps));
  print(fmt::format("events {:.2f} us of each launch: the time between two events without work\n",
                    times.of_points() * 1e6));
}

/// Makes steps one by one, and measures each launch of this rank.
void measure_kernels(const World& world, Trainer& trainer, const BenchOptions& options) {
  world.agree([&] {
    if (trainer.device() == DeviceKind::cuda) return;
    throw Error(Category::usage, "kernels are measured on a GPU: use --device cuda", "kernel-times");
  });
  KernelTimes times(make_stream_clock());
  for (int step = 0; step < options.steps; ++step) {
    trainer.steps(1);
    times.collect();
  }
  if (world.rank() == 0) {
    print_header(world, trainer, options);
    print_kernels(times, options.steps);
  }
}

}  // namespace

int bench_step(World& world, const BenchOptions& options) {
  const DatasetPair data = open_dataset(world, options.data);
  std::unique_ptr<Network> network;
  world.agree([&] { network = make_model(options.model.name, data.train->shape(), data.train->classes()); });
  Trainer trainer(world, *network, *data.train, *data.test,
                  {.batch = options.batch,
                   .learning_rate = 0.01,
                   .input = options.input,
                   .augment = options.augment,
                   .reduce = options.reduce,
                   .execution = options.execution});
  trainer.steps(1);
  const double first_step = process_seconds();
  for (int warm_up = 1; warm_up < 5; ++warm_up) trainer.steps(1);
  if (options.kernel_times) {
    measure_kernels(world, trainer, options);
    return 0;
  }
  std::vector<StepTimes> times;
  std::uint64_t samples = 0;
  world.barrier();
  const double computed_before = processor_seconds();
  const auto start = Clock::now();
  for (int left = options.steps; left > 0; left -= times.back().steps) {
    times.push_back(trainer.steps(left));
    samples += times.back().samples;
  }
  world.barrier();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double host_share = (processor_seconds() - computed_before) / seconds;
  const double speed = static_cast<double>(samples) / seconds;
  if (world.rank() == 0) {
    print_header(world, trainer, options);
    print_times(times, trainer.threads());
    if (!times.front().by_part) {  // a GPU computes
      print(fmt::format("host        {:.1f} % of a core (rank 0)\n", 100.0 * host_share));
    }
    print(
        fmt::format("first step  {:.0f} ms after the start of the process, data decompressed\n"
                    "memory      {:.0f} MB at most (rank 0)\n{:.{}f} img/s\n",
                    first_step * 1e3, peak_megabytes(), speed, speed < 100.0 ? 1 : 0));
  }
  return 0;
}

}  // namespace lockstep
