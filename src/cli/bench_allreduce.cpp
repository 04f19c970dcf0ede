#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "cli/bench.h"
#include "cli/output.h"
#include "device/cpu/cpu_device.h"
#include "lockstep/trainer.h"
#include "reduce/reducer.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

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
  const auto communicator = make_communicator(world, options.execution.transport);
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

}  // namespace

int bench_allreduce(World& world, const BenchOptions& options) {
  const std::string exchange = make_communicator(world, options.execution.transport)->name();
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

}  // namespace lockstep
