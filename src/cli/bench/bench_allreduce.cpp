#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench/bench.h"
#include "core/json/members.h"
#include "gradient/gradient_sums.h"
#include "lockstep/error.h"
#include "train/session/session.h"

namespace lockstep {
namespace {

constexpr std::size_t sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
                                 4 << 20, 16 << 20, 44 << 20, 64 << 20};
constexpr std::size_t max_elements = std::ranges::max(sizes) / sizeof(float);

std::size_t weight(int rank) { return 1 + static_cast<std::size_t>(rank) % 8; }

/// Bytes that this host's network interfaces, except loopback, have sent since they came up.
double sent_bytes() {
  double sum = 0.0;
  std::error_code none;
  for (const auto& interface : std::filesystem::directory_iterator("/sys/class/net", none)) {
    if (interface.path().filename() == "lo") continue;
    double bytes = 0.0;
    if (std::ifstream(interface.path() / "statistics/tx_bytes") >> bytes) sum += bytes;
  }
  return sum;
}

struct Cost {
  double seconds = 0.0;
  double bus_bytes_per_s = 0.0;
  double sent_bytes = 0.0;  ///< bytes per sum that the network interfaces of rank 0's host sent
};
LOCKSTEP_MEMBERS(Cost, seconds, bus_bytes_per_s, sent_bytes)

/// Costs of summing `bytes` in both ways.
struct SumCosts {
  std::size_t bytes = 0;
  Cost ring;
  Cost canonical;
};
LOCKSTEP_MEMBERS(SumCosts, bytes, ring, canonical)

struct AllreduceResults {
  int ranks = 0;
  int hosts = 0;
  std::string processor;
  std::string exchange;
  std::vector<SumCosts> sums = {};  ///< empty for one rank, which has nothing to sum
};
LOCKSTEP_MEMBERS(AllreduceResults, ranks, hosts, processor, exchange, sums)

std::string heading(const AllreduceResults& results) {
  const std::string setting = fmt::format("ranks {}  processor {}  exchange {}\n", results.ranks,
                                          results.processor, results.exchange);
  if (results.ranks == 1) return setting + "one rank: nothing to sum\n";
  const bool wire = results.hosts > 1;
  return setting + fmt::format(
                       "{:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>14}{}\n{:>9}  {:>10}  {:>10}  {:>10}  "
                       "{:>10}{}\n",
                       "bytes", "ring", "ring", "canonical", "canonical", "ring/canonical",
                       wire ? "        ring   canonical" : "", "", "us", "bus GB/s", "us", "bus GB/s",
                       wire ? "                     MB sent     MB sent" : "");
}

/// Row of the table; `wire`: with the bytes sent between hosts.
std::string text_of(const SumCosts& costs, bool wire) {
  const auto& [bytes, ring, canonical] = costs;
  return fmt::format("{:>9}  {:>10.1f}  {:>10.2f}  {:>10.1f}  {:>10.2f}  {:>14.2f}", bytes,
                     ring.seconds * 1e6, ring.bus_bytes_per_s * 1e-9, canonical.seconds * 1e6,
                     canonical.bus_bytes_per_s * 1e-9, ring.seconds / canonical.seconds) +
         (wire ? fmt::format("  {:>10.2f}  {:>10.2f}\n", ring.sent_bytes * 1e-6, canonical.sent_bytes * 1e-6)
               : "\n");
}

/// The ranks' gradients and their sum, in device memory as in a training run. Smaller sums use the first
/// elements.
class SumBench {
 public:
  SumBench(const World& world, const BenchOptions& options)
      : world_(world),
        rounds_(options.rounds),
        session_(world, find_placement(world, options.execution), one_thread(options.execution), false),
        gradient_(agreed(world, [&] { return allocate_arenas(arenas(), device(), 1, max_elements); })),
        sum_(arenas().common_arena(max_elements)) {
    world.agree([&] {
      if (sum_.data() == nullptr) sum_ = device().allocate(max_elements * sizeof(float));
      timer_ = std::make_unique<ProgramTimer>(device());
    });
  }

  /// Results without sums.
  AllreduceResults setting() const {
    return {.ranks = world_.size(),
            .hosts = world_.hosts(),
            .processor = session_.backend().name(),
            .exchange = arenas().name()};
  }

  /// Checks a sum of `elements` floats by `way`, then measures it.
  Cost measure(Reduce way, std::size_t elements) {
    const Exchange exchange = plan(way, elements);
    const std::unique_ptr<Program> program = record(exchange);
    check(way, elements, exchange, *program);
    Cost cost = measure(*program);
    // Minimum number of bytes that cross each link in either direction, as in nccl-tests.
    const double ranks = world_.size();
    cost.bus_bytes_per_s =
        2.0 * (ranks - 1.0) / ranks * static_cast<double>(elements * sizeof(float)) / cost.seconds;
    return cost;
  }

 private:
  Device& device() const { return session_.device(); }
  Communicator& arenas() const { return session_.between_devices(); }

  /// Exchange that leaves the sum on all ranks.
  struct Exchange {
    std::unique_ptr<GradientSums> gradients;
    Gather gather;  ///< empty: the sum is complete on all ranks, in place of the gradient
  };

  Exchange plan(Reduce way, std::size_t elements) {
    const auto ranks = static_cast<std::uint32_t>(world_.size());
    const auto rank = static_cast<std::uint32_t>(world_.rank());
    const GradientSumsOptions options{.elements = elements,
                                      .assignment = assign(ranks, world_.size(), world_.rank(), 1),
                                      .partials = {{{rank, 0}, gradient_.front().floats().data()}},
                                      .summation = session_.backend().summation()};
    if (way == Reduce::ring) {
      return {plan_ring_sums(arenas(), options, std::vector<std::size_t>{0}), nullptr};
    }
    if (session_.placement().whole_sums) {
      return {plan_bucketed_sums(arenas(), options, std::vector<std::size_t>{0}), nullptr};
    }
    const Slices slices = even_slices(elements, world_.size());
    return {plan_canonical_sums(arenas(), options, slices),
            plan_arena_gather(arenas(), sum_.floats().first(elements), slices)};
  }

  std::unique_ptr<Program> record(const Exchange& exchange) {
    return device().record([this, &exchange] {
      Stream& stream = *device().streams()[0];
      GradientSums& gradients = *exchange.gradients;
      gradients.ready(stream, 0);
      if (exchange.gather == nullptr) {
        gradients.sum(stream);
        return;
      }
      while (const auto chunk = gradients.next(stream)) {
        session_.backend().summation().fold(stream, gradients.fold(), *chunk,
                                            sum_.floats().data() + chunk->begin);
      }
      exchange.gather(stream);
    });
  }

  void check(Reduce way, std::size_t elements, const Exchange& exchange, Program& program) {
    std::vector<float> values(elements);
    device().copy(sum_.data(), values.data(), elements * sizeof(float));
    values = terms_of_rank(world_.rank(), elements);
    device().copy(gradient_.front().data(), values.data(), elements * sizeof(float));
    session_.between_hosts().barrier();
    program.run();
    const Buffer& sum = exchange.gather == nullptr ? gradient_.front() : sum_;
    device().copy(values.data(), sum.data(), elements * sizeof(float));
    world_.agree([&] { check_sum(values, world_.size(), name_of(way)); });
  }

  /// Median over the rounds of the slowest rank's time. On devices that receive several steps at once, as
  /// many sums are submitted together as take about a millisecond.
  Cost measure(Program& program) {
    std::vector<double> seconds;
    int runs = 1, sums = 0;
    session_.between_hosts().barrier();
    const double sent = sent_bytes();
    for (int round = -2; round < rounds_; ++round) {  // two rounds to warm up
      session_.between_hosts().barrier();
      const double own = timer_->seconds(program, runs);
      const double slowest = std::ranges::max(all_gather(session_.between_hosts(), own)) / runs;
      sums += runs;
      if (round >= 0) {
        seconds.push_back(slowest);
      } else {
        runs = static_cast<int>(std::clamp(std::ceil(1e-3 / slowest), 1.0,
                                           static_cast<double>(session_.placement().steps_at_once)));
      }
    }
    session_.between_hosts().barrier();
    return {.seconds = median(seconds), .sent_bytes = (sent_bytes() - sent) / sums};
  }

  const World& world_;
  int rounds_;
  Session session_;
  std::vector<Buffer> gradient_;  ///< one buffer
  Buffer sum_;
  std::unique_ptr<ProgramTimer> timer_;
};

}  // namespace

std::vector<float> terms_of_rank(int rank, std::size_t elements) {
  std::vector<float> terms(elements);
  for (std::size_t i = 0; i < elements; ++i) terms[i] = static_cast<float>(weight(rank) * (1 + i % 8));
  return terms;
}

void check_sum(std::span<const float> sum, int ranks, const std::string& way) {
  std::size_t weights = 0;
  for (int rank = 0; rank < ranks; ++rank) weights += weight(rank);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto right = static_cast<float>(weights * (1 + i % 8));
    if (sum[i] == right) continue;
    throw Error(Category::internal,
                fmt::format("the {} sum of {} floats over {} ranks is wrong: element {} is {} instead of {}",
                            way, sum.size(), ranks, i, sum[i], right));
  }
}

int bench_allreduce(World& world, const BenchOptions& options) {
  SumBench bench(world, options);
  const ResultPrinter printer(options.results, world.rank() == 0);
  AllreduceResults results = bench.setting();
  printer.text(heading(results));
  if (world.size() > 1) {
    for (const std::size_t bytes : sizes) {
      results.sums.push_back({.bytes = bytes,
                              .ring = bench.measure(Reduce::ring, bytes / sizeof(float)),
                              .canonical = bench.measure(Reduce::canonical, bytes / sizeof(float))});
      printer.text(text_of(results.sums.back(), world.hosts() > 1));
    }
  }
  printer.finish(results);
  return 0;
}

}  // namespace lockstep
