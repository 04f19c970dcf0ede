#include "comm/staged_communicator.h"

#include <gtest/gtest.h>

#include "comm/exchange_cases.h"
#include "emulation/open_device.h"
#include "reduce/reducer.h"
#include "reduce/thread_ranks.h"

namespace lockstep {
namespace {

/// A rank of the case, with memory of its own or on a device, twice.
void run_case(const ExchangeCase& c, Communicator& host, bool on_device, Calls calls) {
  GraphDevice gpu;
  const auto cpu = make_cpu_device({.threads = 1, .pin = false});
  const auto staged = make_staged_communicator(host, gpu, gpu.stream);
  const std::size_t own =
      c.slices[static_cast<std::size_t>(host.rank()) + 1] - c.slices[static_cast<std::size_t>(host.rank())];
  ExchangingRank rank(c, on_device ? *staged : host, on_device ? static_cast<Device&>(gpu) : *cpu, calls);
  const int allocations = gpu.memory.allocations;
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(rank.run(run), expected_results(c, run)) << c << ", rank " << host.rank();
  }
  if (on_device) {
    EXPECT_EQ(rank.uses, own > 0 ? 1 : 0) << "the whole slice at once";
    EXPECT_EQ(gpu.memory.allocations, allocations) << "nothing is allocated in a run";
  }
}

using OnDevice = bool (*)(int rank);
void run_cases(OnDevice on_device, Calls calls) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{17}, std::size_t{4099}}) {
      for (const ExchangeCase& c : exchange_cases(ranks, elements)) {
        run_as_ranks(ranks, [&](Communicator& host) { run_case(c, host, on_device(host.rank()), calls); });
      }
    }
  }
}

TEST(StagedCommunicator, ExchangesAsThreadsDo) {
  run_cases([](int) { return false; }, Calls::one);
  run_cases([](int) { return true; }, Calls::one);
}

TEST(StagedCommunicator, ExchangesInHalves) {
  run_cases([](int) { return true; }, Calls::halves);
}

TEST(StagedCommunicator, ExchangesWithRanksThatUseTheHostsCommunicator) {
  const OnDevice odd = [](int rank) { return rank % 2 == 1; };
  run_cases(odd, Calls::one);
  run_cases(odd, Calls::halves);
}

TEST(StagedCommunicator, TakesTheHostMemoryThatItNeeds) {
  const std::size_t elements = 64 * 400;
  const ExchangeCase c{even_slices(elements, 4), {1, 2, 0, 1}};
  run_as_ranks(4, [&](Communicator& host) {
    GraphDevice gpu;
    const auto staged = make_staged_communicator(host, gpu, gpu.stream);
    ExchangingRank both(c, *staged, gpu, Calls::one);
    const std::size_t own = c.counts[static_cast<std::size_t>(host.rank())];
    EXPECT_EQ(gpu.host_bytes,
              (std::max<std::size_t>(own, 1) * elements + (4 - own) * elements / 4) * sizeof(float));
    const std::size_t before = gpu.host_bytes;
    ExchangingRank halves(c, *staged, gpu, Calls::halves);
    EXPECT_EQ(gpu.host_bytes, before) << "exchanges share it";
    EXPECT_EQ(halves.run(0), expected_results(c, 0));
    EXPECT_EQ(both.run(1), expected_results(c, 1));
  });
}

TEST(StagedCommunicator, GathersAndReducesMemoryOfTheDevice) {
  run_as_ranks(5, [](Communicator& host) {
    GraphDevice gpu;
    const auto staged = make_staged_communicator(host, gpu, gpu.stream);
    expect_gathers_and_reduces(*staged, gpu);
  });
}

TEST(StagedCommunicator, HasTheHostsRanks) {
  run_as_ranks(3, [](Communicator& host) {
    GraphDevice gpu;
    const auto staged = make_staged_communicator(host, gpu, gpu.stream);
    EXPECT_EQ(staged->rank(), host.rank());
    EXPECT_EQ(staged->size(), 3);
    EXPECT_EQ(staged->name(), "threads through host memory");
  });
}

/// Canonical sums on the emulated GPU, beside CPU ranks: those of the tree.
TEST(StagedCommunicator, CarriesTheCanonicalSum) {
  constexpr std::size_t elements = 5003;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::uint32_t leaves : {3U, 8U, 13U}) {
      run_as_ranks(ranks, [&](Communicator& host) {
        const auto gpu = std::make_unique<OpenDevice>();
        const auto staged = make_staged_communicator(host, *gpu, *gpu->streams()[0]);
        std::vector<float> sum(elements);
        RankGradients gradients(leaves, ranks, host.rank(), 2, sum);
        const auto reducer =
            make_canonical_reducer(host.rank() % 3 == 0 ? *staged : host, gradients.options());
        const auto program = gpu->record([&] {
          gpu->streams()[0]->enqueue([&] {
            reducer->reduce([&](std::size_t begin, std::span<const float> part) {
              std::ranges::copy(part, sum.begin() + static_cast<std::ptrdiff_t>(begin));
            });
          });
        });
        for (int run = 0; run < 2; ++run) {
          program->run();
          for (std::size_t e = 0; e < elements; ++e) ASSERT_EQ(sum[e], reference_sum(0, leaves, e));
          gradients.compute_again();
        }
      });
    }
  }
}

}  // namespace
}  // namespace lockstep
