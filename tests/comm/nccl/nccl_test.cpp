#include <gtest/gtest.h>

#include <latch>

#include "comm/exchange_cases.h"
#include "comm/launch.h"
#include "comm/nccl/fake_nccl.h"
#include "comm/nccl/nccl_communicator.h"
#include "comm/watched_communicator.h"
#include "comm/world/agreement.h"
#include "gradient/bucketed_exchange.h"
#include "gradient/cuda/summation.h"
#include "gradient/thread_ranks.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

using fake_cuda::Order;
using Names = std::vector<std::string>;
/// PCI address of a rank's GPU.
std::string address_of_gpu(const Communicator& host) {
  return "0000:1" + std::to_string(host.rank()) + ":00";
}

/// Runs `work` on ranks that are threads, each with its own GPU.
void run_with_nccl(int ranks, const std::function<void(Communicator& nccl, Device& gpu)>& work,
                   const NcclOptions& options = FakeNccl::options()) {
  run_as_ranks(ranks, [&](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    work(*connect_by_nccl(host, address_of_gpu(host), *gpu, options), *gpu);
  });
}

TEST(Nccl, IsReadyWhenItsInitialisationIsNoLongerInProgress) {
  for (const int polls : {0, 1, 100}) {
    FakeNccl fake;
    fake.polls = polls;
    run_as_ranks(3, [&](Communicator& host) {
      const auto gpu = cuda::make_cuda_device();
      const auto nccl = connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options());
      EXPECT_EQ(nccl->rank(), host.rank());
      EXPECT_EQ(nccl->size(), 3);
      EXPECT_EQ(nccl->name(), "NCCL");
      nccl->check();
    });
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(fake.calls[rank], (Names{"init", "finalize", "destroy"})) << "rank " << rank;
    }
  }
}

TEST(Nccl, NamesTheReasonWhereRankZeroCannotBegin) {
  FakeNccl fake;
  fake.in_unique_id = {0, ncclSystemError};
  run_as_ranks(2, [&](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    expect_exact_error(Category::resource, "ncclGetUniqueId: unhandled system error",
                       [&] { connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options()); });
  });
  EXPECT_TRUE(fake.calls.empty());
}

TEST(Nccl, EndsEveryRankWhereInitialisationFailsOnOne) {
  FakeNccl fake;
  fake.in_init = {1, ncclSystemError};
  fake.never_ready = true;
  run_as_ranks(3, [&](Communicator& ranks) {
    const auto gpu = cuda::make_cuda_device();
    WatchedCommunicator host(ranks, fake.gone);
    const auto connect = [&] { connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options()); };
    if (host.rank() != 1) return expect_exact_error(Category::peer, "rank 1 has ended", connect);
    expect_exact_error(
        Category::resource,
        "GPU 0000:11:00: NCCL: ncclCommInitRankConfig: unhandled system error: no route to host; "
        "NCCL_DEBUG=INFO says more",
        connect);
    fake.gone = true;
  });
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(fake.calls[rank], (Names{"init", "abort"}));
}

/// No host has enough space in /dev/shm for 2^30 ranks.
TEST(Nccl, SuspectsSharedMemoryThatIsTooSmallForTheRanksOfTheHost) {
  NcclOptions options = FakeNccl::options();
  for (const int local_ranks : {1, 1 << 30}) {
    FakeNccl fake;
    fake.in_init = {0, ncclSystemError};
    options.local_ranks = local_ranks;
    run_as_ranks(1, [&](Communicator& host) {
      const auto gpu = cuda::make_cuda_device();
      const auto error = error_of([&] { connect_by_nccl(host, address_of_gpu(host), *gpu, options); });
      ASSERT_TRUE(error);
      EXPECT_EQ(std::string(error->what()).find("; /dev/shm has only") != std::string::npos, local_ranks > 1)
          << error->what();
    });
  }
}

TEST(Nccl, AbortsOnceWhereItFailsLater) {
  FakeNccl fake;
  run_as_ranks(2, [&](Communicator& ranks) {
    const auto gpu = cuda::make_cuda_device();
    WatchedCommunicator host(ranks, fake.gone);
    const auto nccl = connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options());
    nccl->check();
    ranks.barrier();
    if (host.rank() == 0) {
      fake.asynchronous = ncclRemoteError;
      launch(stream_of(*gpu), [] {});
      const Error error = error_of([&] { gpu->copy(nullptr, nullptr, 0); }).value();
      EXPECT_EQ(error.category(), Category::peer) << "found while the device waits";
      EXPECT_TRUE(std::string(error.what())
                      .starts_with("GPU 0000:10:00: NCCL: asynchronous error: remote error: no"));
      fake.gone = true;
    }
    ranks.barrier();
    const Buffer memory = gpu->allocate(sizeof(float));
    const auto sum = nccl->plan_all_reduce(memory.floats());
    expect_error(Category::peer, {}, [&] { sum.start(stream_of(*gpu)); });
    expect_exact_error(Category::peer, "NCCL was aborted", [&] { nccl->check(); });
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(fake.calls[rank], (Names{"init", "abort"}));
}

/// NCCL's abort waits until graphs that captured its operations are destroyed, which happens only when the
/// error unwinds.
TEST(Nccl, ErrorsAreReportedWhileAnAbortWaitsForGraphs) {
  FakeNccl fake;
  std::latch graphs_are_gone(1);
  fake.waits_in_abort = [&] { graphs_are_gone.wait(); };
  run_with_nccl(1, [&](Communicator& nccl, Device& /*gpu*/) {
    fake.asynchronous = ncclRemoteError;
    expect_error(Category::peer, {}, [&] { nccl.check(); });
    expect_exact_error(Category::peer, "NCCL was aborted", [&] { nccl.check(); });
    graphs_are_gone.count_down();
  });
  EXPECT_EQ(fake.calls[0], (Names{"init", "abort"}));
}

TEST(Nccl, AbortsWhileAnExceptionUnwinds) {
  FakeNccl fake;
  run_as_ranks(2, [&](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    expect_error(Category::data, {}, [&] {
      const auto nccl = connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options());
      throw Error(Category::data, "labels.gz: cut short");
    });
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(fake.calls[rank], (Names{"init", "abort"}));
}

TEST(Nccl, AbortsWhereAPeerIsGoneAtTheEnd) {
  FakeNccl fake;
  run_as_ranks(2, [&](Communicator& ranks) {
    const auto gpu = cuda::make_cuda_device();
    WatchedCommunicator host(ranks, fake.gone);
    const auto nccl = connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options());
    ranks.barrier();
    fake.gone = true;
  });
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(fake.calls[rank], (Names{"init", "finalize", "abort"}));
}

/// Submits an exchange of each kind between two ranks.
void submit_exchanges(Communicator& nccl, Device& gpu, std::span<float> values) {
  const auto sums = nccl.plan_sum({.own = {values.data()}, .counts = {1, 1}, .slices = even_slices(100, 2)});
  const std::vector<std::size_t> bounds{0, 200, 400};
  const Gather gather = nccl.plan_gather(std::as_writable_bytes(values), bounds);
  const AllReduce reduce = nccl.plan_all_reduce(values);
  gpu.record([&] {
       Stream& stream = stream_of(gpu);
       sums->next(stream);
       gather(stream);
       reduce.start(stream);
       reduce.finish(stream);
     })
      ->run();
}

/// The fake detects memory that is freed too early.
TEST(Nccl, EndsBeforeItsMemoryIsFreed) {
  FakeNccl fake;
  run_as_ranks(2, [&](Communicator& host) {
    const auto gpu = cuda::make_cuda_device();
    const Buffer memory = gpu->allocate(100 * sizeof(float));
    const auto nccl = connect_by_nccl(host, address_of_gpu(host), *gpu, FakeNccl::options());
    submit_exchanges(*nccl, *gpu, memory.floats());
  });
}

/// Function of the library whose calls fail on this thread, and number of calls before the first failure.
thread_local std::string failing;
thread_local int calls_before = 0;

/// A function of FakeNccl that can fail.
template <auto member>
struct CanFail;
template <class... Arguments, ncclResult_t (*NcclApi::*member)(Arguments...)>
struct CanFail<member> {
  static inline std::string name;
  static ncclResult_t call(Arguments... arguments) {
    const ncclResult_t result = (FakeNccl::api().*member)(arguments...);
    return name == failing && calls_before-- <= 0 ? ncclSystemError : result;
  }
};

/// Runs one of two ranks that exchange data. Returns the message of its error.
std::string exchange_with(const NcclApi& api, Communicator& host) {
  const auto gpu = cuda::make_cuda_device();
  const auto error = error_of([&] {
    const auto nccl = connect_by_nccl(host, address_of_gpu(host), *gpu, {.api = api, .largest_sum = 100});
    const Buffer memory = gpu->allocate(100 * sizeof(float));
    submit_exchanges(*nccl, *gpu, memory.floats());
    gpu->copy(nullptr, nullptr, 0);
    failing.clear();  // destructors ignore failures
  });
  return error ? error->what() : "";
}

TEST(Nccl, NamesEveryCallThatFails) {
  const std::set<std::string> of_destructors{"ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort"};
  NcclApi api = FakeNccl::api();
  std::set<std::string> functions;
  for_each_nccl_function([&]<auto member>(const char* name) {
    if constexpr (requires { CanFail<member>::call; }) {
      functions.insert(CanFail<member>::name = name);
      api.*member = CanFail<member>::call;
    }
  });
  functions.erase("ncclGetVersion");  // tested below
  for (const std::string& function : functions) {
    int calls = 0;
    for (bool fails = true; fails; ++calls) {
      FakeNccl fake;
      fake.polls = 1;
      run_as_ranks(2, [&](Communicator& ranks) {
        WatchedCommunicator host(ranks, fake.gone);
        if (host.rank() == 0) failing = function, calls_before = calls;
        const std::string message = exchange_with(api, host);
        if (host.rank() != 0) return;
        fake.gone = true;
        fails = calls_before < 0;
        EXPECT_EQ(test::holds(message, function), fails) << function << " " << calls << " " << message;
      });
    }
    EXPECT_EQ(calls > 1, !of_destructors.contains(function)) << function;
  }
}

TEST(Nccl, ExchangesAsThreadsDo) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::size_t elements : {std::size_t{1}, std::size_t{17}, std::size_t{4099}}) {
      for (const ExchangeCase& c : exchange_cases(ranks, elements)) {
        FakeNccl fake;
        run_with_nccl(ranks, [&](Communicator& nccl, Device& gpu) {
          ExchangingRank rank(c, nccl, gpu, launch);
          const int allocations = fake_cuda::allocated_by_thread().allocations;
          for (int run = 0; run < 2; ++run) EXPECT_EQ(rank.run(run), expected_results(c, run)) << c;
          EXPECT_LE(rank.chunks, 1) << "one chunk is enough";
          EXPECT_EQ(fake_cuda::allocated_by_thread().allocations, allocations)
              << "nothing is allocated in a run";
        });
      }
    }
  }
}

TEST(Nccl, ExchangesInChunksWhereStagingIsSmall) {
  const ExchangeCase c{even_slices(100003, 3), {1, 2, 0}};
  FakeNccl fake;
  const auto exchange = [&](Communicator& nccl, Device& gpu) {
    ExchangingRank rank(c, nccl, gpu, launch);
    EXPECT_EQ(rank.chunks, 5) << "33,334 elements, 8,000 at a time";
    for (int run = 0; run < 2; ++run) EXPECT_EQ(rank.run(run), expected_results(c, run));
  };
  run_with_nccl(3, exchange, {.api = fake.api(), .staging = 3 * 8000, .largest_sum = 1});
}

TEST(Nccl, GathersAndReducesMemoryOfTheDevice) {
  FakeNccl fake;
  run_with_nccl(5, [](Communicator& nccl, Device& gpu) { expect_gathers_and_reduces(nccl, gpu); });
}

/// Sums of the two halves of an arena, the second half first, overlapped with other work of the device.
struct OverlappedSums {
  static constexpr std::size_t half = 100;

  OverlappedSums(Communicator& communicator, Device& device) : gpu(device) {
    const std::span<float> values = arena.floats();
    float* const seen = meanwhile.floats().data();
    const auto plan = [&](std::size_t begin) {
      return communicator.plan_all_reduce(values.subspan(begin, half));
    };
    reduces[1] = plan(half);
    reduces[0] = plan(0);
    program = gpu.record([&] {
      for (const std::size_t i : {1, 0}) {
        launch(stream_of(gpu), [part = values.subspan(i * half, half)] { ++part.front(), part.back() += 2; });
        reduces[i].start(stream_of(gpu));
      }
      launch(stream_of(gpu), [=] { *seen = values.front(); });
      for (const auto& reduce : reduces) reduce.finish(stream_of(gpu));
      gpu.copy(stream_of(gpu), sums.data(), arena.data(), arena.bytes());
    });
  }

  std::vector<float> run(float first) {
    const std::vector<float> values(2 * half, first);
    gpu.copy(arena.data(), values.data(), arena.bytes());
    program->run();
    std::vector<float> result(2 * half);
    gpu.copy(result.data(), sums.data(), arena.bytes());
    gpu.copy(&seen_meanwhile, meanwhile.data(), sizeof(float));
    return result;
  }

  Device& gpu;
  Buffer arena = gpu.allocate(2 * half * sizeof(float)), sums = gpu.allocate(arena.bytes()),
         meanwhile = gpu.allocate(sizeof(float));
  std::array<AllReduce, 2> reduces;
  std::unique_ptr<Program> program;
  float seen_meanwhile = 0.0F;
};

TEST(Nccl, SumsThatAreBegunRunBesideOtherWork) {
  for (const Order order : {Order::late, Order::reversed}) {
    fake_cuda::set_order(order);
    FakeNccl fake;
    run_with_nccl(3, [&](Communicator& nccl, Device& gpu) {
      OverlappedSums sums(nccl, gpu);
      for (int run = 0; run < 2; ++run) {
        const auto own = static_cast<float>(10 * run + nccl.rank());
        const auto total = static_cast<float>(30 * run + 3);
        std::vector<float> expected(2 * OverlappedSums::half, total);
        for (const std::size_t begin : {std::size_t{0}, OverlappedSums::half}) {
          expected[begin] += 3.0F;
          expected[begin + OverlappedSums::half - 1] += 6.0F;
        }
        EXPECT_EQ(sums.run(own), expected);
        EXPECT_EQ(sums.seen_meanwhile, order == Order::reversed ? own + 1.0F : total + 3.0F);
      }
    });
  }
  fake_cuda::set_order(Order::late);
}

/// Canonical sum of an arena in two buckets. The second bucket is summed while the first is computed.
struct OverlappedBuckets {
  static constexpr std::size_t elements = 1024, middle = 512;

  OverlappedBuckets(Communicator& communicator, Device& device, std::size_t gathered)
      : gpu(device), rank(static_cast<float>(communicator.rank())) {
    const auto ranks = static_cast<std::uint32_t>(communicator.size());
    std::vector<Node> nodes;
    for (std::uint32_t leaf = 0; leaf < ranks; ++leaf) nodes.push_back({leaf, 0});
    const std::vector<std::uint32_t> counts(ranks, 1);
    const std::vector<std::size_t> buckets{0, middle};
    exchange = plan_tree_exchange(communicator, *summation, {{nodes[0], arena.floats().data()}}, counts,
                                  plan_fold(nodes, ranks), arena.floats(), buckets, gathered);
    program = gpu.record([&] {
      const auto compute = [&](std::size_t begin) {
        launch(stream_of(gpu), [values = arena.floats().subspan(begin, middle), first = rank] {
          for (std::size_t i = 0; i < middle; ++i) values[i] = first + static_cast<float>(i);
        });
      };
      compute(middle);
      exchange->ready(stream_of(gpu), middle);
      compute(0);
      exchange->ready(stream_of(gpu), 0);
      const auto sum = exchange->next(stream_of(gpu));
      gpu.copy(stream_of(gpu), sums.data(), sum->inputs[0], arena.bytes());
      EXPECT_FALSE(exchange->next(stream_of(gpu)));
    });
  }

  std::vector<float> run() {
    program->run();
    std::vector<float> result(elements);
    gpu.copy(result.data(), sums.data(), arena.bytes());
    return result;
  }

  Device& gpu;
  float rank;
  std::unique_ptr<Summation> summation = cuda::make_summation(gpu);
  Buffer arena = gpu.allocate(elements * sizeof(float)), sums = gpu.allocate(arena.bytes());
  std::unique_ptr<SumExchange> exchange;
  std::unique_ptr<Program> program;
};

TEST(Nccl, SumsInTheOrderOfTheTreeBesideOtherWork) {
  for (const Order order : {Order::late, Order::reversed}) {
    fake_cuda::set_order(order);
    for (const std::size_t gathered : {std::size_t{0}, 4 * OverlappedBuckets::elements}) {
      FakeNccl fake;
      run_with_nccl(3, [&](Communicator& nccl, Device& gpu) {
        OverlappedBuckets buckets(nccl, gpu, gathered);
        std::vector<float> expected;
        for (std::size_t i = 0; i < OverlappedBuckets::elements; ++i) {
          expected.push_back(3.0F + 3.0F * static_cast<float>(i % OverlappedBuckets::middle));
        }
        for (int run = 0; run < 2; ++run) EXPECT_EQ(buckets.run(), expected);
      });
    }
  }
  fake_cuda::set_order(Order::late);
}

TEST(Nccl, OtherExchangesWaitForSumsThatAreBegun) {
  FakeNccl fake;
  run_with_nccl(2, [&](Communicator& nccl, Device& gpu) {
    const Buffer all = gpu.allocate(2 * sizeof(float));
    const std::vector<std::size_t> bounds{0, sizeof(float), 2 * sizeof(float)};
    const auto own = static_cast<std::size_t>(nccl.rank());
    const auto sum = nccl.plan_all_reduce(all.floats().subspan(own, 1));
    const auto gather = nccl.plan_gather({all.data(), all.bytes()}, bounds);
    const auto program = gpu.record([&] {
      launch(stream_of(gpu), [at = all.floats().data() + own] { *at = 21.0F; });
      sum.start(stream_of(gpu));
      gather(stream_of(gpu));
    });
    program->run();
    std::vector<float> gathered(2);
    gpu.copy(gathered.data(), all.data(), all.bytes());
    EXPECT_EQ(gathered, std::vector<float>(2, 42.0F));
  });
}

TEST(Nccl, LibraryThatIsMissingIsNamed) {
  expect_error(Category::resource,
               {"NCCL cannot be opened: libnccl-of-nobody.so.2: ", "use the transport by messages"},
               [] { load_nccl("libnccl-of-nobody.so.2"); });
}

TEST(Nccl, LibraryThatIsAnotherIsRefused) {
  expect_exact_error(Category::resource,
                     "libcudnn.so.9 has no ncclGetVersion: NCCL 2.18 or newer is required",
                     [] { load_nccl("libcudnn.so.9"); });
}

TEST(Nccl, VersionsBefore218AreRefused) {
  NcclApi api = FakeNccl::api();
  EXPECT_EQ(version_of(api), "2.28.9");
  api.get_version = [](int*) { return ncclSystemError; };
  expect_exact_error(Category::resource, "ncclGetVersion: NCCL does not report its version",
                     [&] { version_of(api); });
  api.get_version = [](int* version) {
    *version = 21703;
    return ncclSuccess;
  };
  expect_exact_error(Category::resource, "NCCL 2.17.3 is too old: 2.18 or newer is required",
                     [&] { version_of(api); });
}

}  // namespace
}  // namespace lockstep
