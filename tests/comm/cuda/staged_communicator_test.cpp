#include "comm/transports/staged_communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "comm/exchange_cases.h"
#include "comm/launch.h"
#include "gradient/thread_ranks.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Runs a rank of the case twice, with arenas in host memory or on a device.
void run_case(const ExchangeCase& c, Communicator& host, bool on_device) {
  const auto gpu = cuda::make_cuda_device();
  const auto cpu = make_cpu_device({.threads = 1, .pin = false});
  const auto staged = make_staged_communicator(host, *gpu);
  const std::size_t own =
      c.slices[static_cast<std::size_t>(host.rank()) + 1] - c.slices[static_cast<std::size_t>(host.rank())];
  ExchangingRank rank(c, on_device ? *staged : host, on_device ? *gpu : *cpu, launch);
  const int allocations = fake_cuda::allocated_by_thread().allocations;
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(rank.run(run), expected_results(c, run)) << c << ", rank " << host.rank();
  }
  if (on_device) {
    EXPECT_EQ(rank.chunks, own > 0 ? 1 : 0) << "the whole slice at once";
    EXPECT_EQ(fake_cuda::allocated_by_thread().allocations, allocations) << "nothing is allocated in a run";
  }
}

using OnDevice = bool (*)(int rank);
void run_cases(OnDevice on_device) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{17}, std::size_t{4099}}) {
      for (const ExchangeCase& c : exchange_cases(ranks, elements)) {
        run_as_ranks(ranks, [&](Communicator& host) { run_case(c, host, on_device(host.rank())); });
      }
    }
  }
}

TEST(StagedCommunicator, ExchangesAsThreadsDo) {
  run_cases([](int) { return true; });
}

TEST(StagedCommunicator, ExchangesWithRanksThatUseTheHostsCommunicator) {
  run_cases([](int rank) { return rank % 2 == 1; });
}

TEST(StagedCommunicator, TakesTheHostMemoryThatItNeeds) {
  const std::size_t elements = 64 * 400;
  const ExchangeCase c{even_slices(elements, 4), {1, 2, 0, 1}};
  run_as_ranks(4, [&](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    const auto staged = make_staged_communicator(host, *gpu);
    const auto host_bytes = [at_first = fake_cuda::allocated_by_thread().host_bytes] {
      return fake_cuda::allocated_by_thread().host_bytes - at_first;
    };
    ExchangingRank first(c, *staged, *gpu, launch);
    const std::size_t own = c.counts[static_cast<std::size_t>(host.rank())];
    EXPECT_EQ(host_bytes(), (own * elements + (4 - own) * elements / 4) * sizeof(float));
    const std::size_t before = host_bytes();
    ExchangingRank second(c, *staged, *gpu, launch);
    EXPECT_EQ(host_bytes(), before) << "plans share it";
    EXPECT_EQ(second.run(0), expected_results(c, 0));
    EXPECT_EQ(first.run(1), expected_results(c, 1));
  });
}

/// Making a plan is collective, so a rank must not fail there.
TEST(StagedCommunicator, IsShortOfMemoryWhenPlansAreRecorded) {
  const std::vector<std::size_t> bounds{0, 64, 128, 192};
  std::atomic<int> failed = 0;
  run_as_ranks(3, [&](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    const auto staged = make_staged_communicator(host, *gpu);
    const Buffer memory = gpu->allocate(6400 * sizeof(float));
    host.barrier();
    if (host.rank() == 0) fake_cuda::fail("cudaMallocHost", cudaErrorMemoryAllocation);
    host.barrier();
    const auto sum = staged->plan_sum(
        {.own = {memory.floats().data()}, .counts = {1, 1, 1}, .slices = even_slices(6400, 3)});
    const Gather gather = staged->plan_gather({memory.data(), bounds.back()}, bounds);
    const std::function<void(Stream&)> sum_all = [&](Stream& stream) {
      while (sum->next(stream)) continue;
    };
    for (const auto& exchange : {sum_all, gather}) {
      try {
        const auto program = gpu->record([&] { exchange(stream_of(*gpu)); });
      } catch (const Error& error) {
        EXPECT_EQ(error.category(), Category::resource);
        ++failed;
      }
    }
  });
  EXPECT_EQ(failed, 2) << "both exchanges of one rank";
}

TEST(StagedCommunicator, GathersAndReducesMemoryOfTheDevice) {
  run_as_ranks(5, [](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    const auto staged = make_staged_communicator(host, *gpu);
    expect_gathers_and_reduces(*staged, *gpu);
  });
}

TEST(StagedCommunicator, HasTheHostsRanks) {
  run_as_ranks(3, [](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    const auto staged = make_staged_communicator(host, *gpu);
    EXPECT_EQ(staged->rank(), host.rank());
    EXPECT_EQ(staged->size(), 3);
    EXPECT_EQ(staged->name(), "threads through host memory");
  });
}

}  // namespace
}  // namespace lockstep
