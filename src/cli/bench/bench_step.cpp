#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench/bench.h"
#include "cli/bench/work.h"
#include "core/clock.h"
#include "core/json/members.h"
#include "core/process/process.h"
#include "core/text/printable.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"
#include "lockstep/models.h"
#include "lockstep/trainer.h"
#include "run/sinks/progress_text.h"
#include "train/session/session.h"

namespace lockstep {
namespace {

struct StepSetting {
  int ranks = 0;
  int threads = 0;
  std::string processor;
  std::string exchange;
  std::int64_t batch = 0;  ///< samples of a step
  std::int64_t micro_batches = 0;
};
LOCKSTEP_MEMBERS(StepSetting, ranks, threads, processor, exchange, batch, micro_batches)

StepSetting setting_of(const World& world, const Trainer& trainer, const BenchOptions& options) {
  return {.ranks = world.size(),
          .threads = trainer.threads(),
          .processor = trainer.processor(),
          .exchange = trainer.transport(),
          .batch = options.batch.size,
          .micro_batches = trainer.micro_batches()};
}

std::string text_of(const StepSetting& setting) {
  return fmt::format("ranks {}  threads {}  processor {}  exchange {}  batch {} = {} of {}\n", setting.ranks,
                     setting.threads, setting.processor, setting.exchange, setting.batch,
                     counted(setting.micro_batches, "micro-batch"), setting.batch / setting.micro_batches);
}

struct StepPart {
  std::string name;
  double seconds = 0.0;
  double share = 0.0;      ///< share of the step's time
  std::string limit = {};  ///< limit of a thread that bounds the part for the longest time; empty: unknown
  double limit_seconds = 0.0;  ///< minimum time by the limits; 0: unknown
};
LOCKSTEP_MEMBERS(StepPart, name, seconds, share, limit, limit_seconds)

struct StepResults {
  StepSetting setting;
  std::vector<StepPart> parts = {};
  double step_seconds = 0.0;
  std::optional<double> host_share = {};  ///< share of a core that rank 0 used; only if a GPU computes
  double first_step_seconds = 0.0;        ///< from the start of the process to the end of the first step
  std::uint64_t peak_memory_bytes = 0;    ///< peak memory of rank 0
  double images_per_s = 0.0;
  std::optional<ThreadLimits> limits = {};
  SampleKind samples = SampleKind::image;  ///< not in JSON; selects the unit in the text
};

template <OptionsOf<StepResults> O, class Visitor>
void visit(O& results, Visitor&& field) {
  [[maybe_unused]] auto& [setting, parts, step_seconds, host_share, first_step_seconds, peak_memory_bytes,
                          images_per_s, limits, samples] = results;
  visit(setting, field);
  field(parts, {.name = "parts"});
  field(step_seconds, {.name = "step_seconds"});
  field(host_share, {.name = "host_share"});
  field(first_step_seconds, {.name = "first_step_seconds"});
  field(peak_memory_bytes, {.name = "peak_memory_bytes"});
  field(images_per_s, {.name = "images_per_s"});
  field(limits, {.name = "limits"});
}

/// Sets the times to medians over steps (CUDA: over groups of steps). For a part that all threads compute,
/// the time of a step is the mean of the threads' times. Omits parts that take no time or were not measured.
void set_times(StepResults& results, const std::vector<StepTimes>& times) {
  const auto middle = [&](auto seconds) {
    std::vector<double> values;
    std::ranges::transform(times, std::back_inserter(values),
                           [&](const StepTimes& group) { return std::invoke(seconds, group) / group.steps; });
    return median(values);
  };
  results.step_seconds = middle(&StepTimes::total);
  const auto add = [&](const char* name, double seconds) {
    if (seconds > 0.0) results.parts.push_back({name, seconds, seconds / results.step_seconds});
  };
  const double threads = results.setting.threads;
  const auto other = [&](const StepTimes& group) {  // waits between threads, start and end of a step
    const double on_threads = group.load + group.forward + group.backward + group.fold;
    return group.total - on_threads / threads - group.reduce - group.update;
  };
  const bool by_part = times.front().by_part;
  add(by_part ? "load" : "waiting for samples", middle(&StepTimes::load) / threads);
  add("forward", middle(&StepTimes::forward) / threads);
  add("backward", middle(&StepTimes::backward) / threads);
  add("fold", middle(&StepTimes::fold) / threads);
  add("reduce", middle(&StepTimes::reduce));
  add("update", middle(&StepTimes::update));
  if (by_part) add("other", middle(other));
}

/// Measures the limits of a thread, and sets the minimum times that they allow for this rank's forward and
/// backward parts. Collective; only if all ranks compute on CPUs.
void set_limits(StepResults& results, const Session& session, const Network& network) {
  const Graph graph = build_graph(network);
  const ArenaLayout layout = layout_arena(network.parameters());
  const auto samples = static_cast<int>(results.setting.batch / results.setting.micro_batches);
  const auto compiled =
      session.planned([&] { return session.backend().compile(graph, layout, {.samples = samples}); });
  session.world().agree([&] { results.limits = session.backend().measure_limits(); });
  std::map<std::string, std::map<std::string, double>> bound;  // seconds of a part, by limit
  const auto add = [&](const char* part, const Work& work) {
    const NearestLimit nearest = nearest_limit(*results.limits, work);
    bound[part][nearest.name] += nearest.seconds;
  };
  for (const NodeWork& node : work_of(network, graph, *compiled, samples)) {
    add("forward", node.forward);
    if (node.backward) add("backward", *node.backward);
  }
  const auto threads = static_cast<std::uint32_t>(results.setting.threads);
  const Assignment assignment =
      session.assign(static_cast<std::uint32_t>(results.setting.micro_batches), threads);
  const std::uint32_t own = assignment.executors.back() - assignment.executors.front();
  const double micro_batches = static_cast<double>(own) / threads;  // per thread
  for (StepPart& part : results.parts) {
    double longest = 0.0;
    for (const auto& [limit, seconds] : bound[part.name]) {
      part.limit_seconds += seconds * micro_batches;
      if (seconds <= longest) continue;
      longest = seconds;
      part.limit = limit;
    }
  }
}

std::string text_of(const StepResults& results) {
  const std::size_t width = results.host_share ? 19 : 10;
  std::string text = text_of(results.setting) + (results.limits ? text_of(*results.limits) : "") +
                     fmt::format("{:<{}}  {:>10}  {:>7}{}\n", "part", width, "us/step", "share",
                                 results.limits ? fmt::format("  {:>14}", "of limit") : "");
  const auto add = [&](const StepPart& part) {
    text += fmt::format(
        "{:<{}}  {:>10.1f}  {:>5.1f} %{}\n", part.name, width, part.seconds * 1e6, 100.0 * part.share,
        part.limit.empty() ? "" : "  " + limit_cell(part.limit, part.limit_seconds, part.seconds));
  };
  std::ranges::for_each(results.parts, add);
  add({"step", results.step_seconds, 1.0});
  if (results.host_share) {
    text += fmt::format("host        {:.1f} % of a core (rank 0)\n", 100.0 * *results.host_share);
  }
  return text + fmt::format(
                    "first step  {:.0f} ms after the start of the process, data decompressed\n"
                    "memory      {:.0f} MB at most (rank 0)\n{:.{}f} {}\n",
                    results.first_step_seconds * 1e3,
                    static_cast<double>(results.peak_memory_bytes) / (1 << 20), results.images_per_s,
                    results.images_per_s < 100.0 ? 1 : 0, speed_unit(results.samples));
}

/// Seconds since the start of this process (resolution: 10 ms).
double process_seconds() {
  const auto started = static_cast<double>(own_process().start);
  return clock_seconds(CLOCK_BOOTTIME) - started / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

/// Launches of a kernel, a library operation or copies: averages per step.
struct Kernel {
  std::string name;
  double launches = 0.0;
  double seconds = 0.0;
};
LOCKSTEP_MEMBERS(Kernel, name, launches, seconds)

/// Kernels that a step launches, and their times: averages per step.
struct KernelResults {
  StepSetting setting;
  double launches = 0.0;
  double kernel_seconds = 0.0;
  std::vector<Kernel> kernels = {};
  double between_launches_seconds = 0.0;
  double event_seconds = 0.0;  ///< time between the two events of a launch without work
};

template <OptionsOf<KernelResults> O, class Visitor>
void visit(O& results, Visitor&& field) {
  auto& [setting, launches, kernel_seconds, kernels, between_launches_seconds, event_seconds] = results;
  visit(setting, field);
  field(launches, {.name = "launches"});
  field(kernel_seconds, {.name = "kernel_seconds"});
  field(kernels, {.name = "kernels"});
  field(between_launches_seconds, {.name = "between_launches_seconds"});
  field(event_seconds, {.name = "event_seconds"});
}

KernelResults results_of(const KernelTimes& times, int steps, StepSetting setting) {
  KernelResults results{.setting = std::move(setting),
                        .between_launches_seconds = times.between() / steps,
                        .event_seconds = times.of_points()};
  for (const KernelTime& kernel : times.kernels()) {
    results.kernels.push_back(
        {kernel.name, static_cast<double>(kernel.launches) / steps, kernel.seconds / steps});
    results.launches += results.kernels.back().launches;
    results.kernel_seconds += results.kernels.back().seconds;
  }
  return results;
}

std::string text_of(const KernelResults& results) {
  std::string text = text_of(results.setting) + fmt::format("sum {:.2f} us {:.1f} launches a step\n",
                                                            results.kernel_seconds * 1e6, results.launches);
  for (const Kernel& kernel : results.kernels) {
    text += fmt::format("{:>10.2f} us {:>8.1f} launches  {}\n", kernel.seconds * 1e6, kernel.launches,
                        kernel.name);
  }
  return text + fmt::format(
                    "between launches {:.2f} us a step\n"
                    "events {:.2f} us of each launch: the time between two events without work\n",
                    results.between_launches_seconds * 1e6, results.event_seconds * 1e6);
}

/// Makes steps one by one, and measures each launch of this rank.
KernelResults measure_kernels(const World& world, Trainer& trainer, const BenchOptions& options) {
  world.agree([&] {
    if (trainer.device() == DeviceKind::cuda) return;
    throw Error(Category::usage, "kernels are measured on a GPU: use --device cuda", "kernel-times");
  });
  KernelTimes times(make_stream_clock());
  for (int step = 0; step < options.steps; ++step) {
    trainer.steps(1);
    times.collect();
  }
  return results_of(times, options.steps, setting_of(world, trainer, options));
}

}  // namespace

int bench_step(World& world, const BenchOptions& options) {
  const DatasetPair data = open_dataset(world, options.data);
  std::unique_ptr<Network> network;
  world.agree([&] { network = make_model(options.model.name, data.train->shape(), data.train->classes()); });
  ExecutionOptions execution = options.execution;
  if (options.kernel_times) execution.streams = 1;  // one micro-batch at a time, so that each launch is alone
  std::optional<Trainer> trainer(std::in_place, world, *network, *data.train, *data.test,
                                 TrainerOptions{.batch = options.batch,
                                                .learning_rate = 0.01,
                                                .input = options.input,
                                                .augment = options.augment,
                                                .reduce = options.reduce,
                                                .execution = execution});
  const ResultPrinter printer(options.results, world.rank() == 0);
  trainer->steps(1);
  const double first_step = process_seconds();
  for (int warm_up = 1; warm_up < 5; ++warm_up) trainer->steps(1);
  if (options.kernel_times) {
    printer.print(measure_kernels(world, *trainer, options));
    return 0;
  }
  std::vector<StepTimes> times;
  std::uint64_t samples = 0;
  world.barrier();
  const double computed_before = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double start = steady_seconds();
  for (int left = options.steps; left > 0; left -= times.back().steps) {
    times.push_back(trainer->steps(left));
    samples += times.back().samples;
  }
  world.barrier();
  const double seconds = steady_seconds() - start;
  const double computed = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - computed_before;
  StepResults results{.setting = setting_of(world, *trainer, options),
                      .first_step_seconds = first_step,
                      .peak_memory_bytes = peak_memory_bytes(),
                      .images_per_s = static_cast<double>(samples) / seconds,
                      .samples = kind_of(data.train->encoding())};
  set_times(results, times);
  if (!times.front().by_part) results.host_share = computed / seconds;  // no parts: a GPU computes
  trainer.reset();
  Placement placement = find_placement(world, options.execution);
  if (!placement.some_cuda) {
    set_limits(results, Session(world, std::move(placement), options.execution), *network);
  }
  printer.print(results);
  return 0;
}

}  // namespace lockstep
