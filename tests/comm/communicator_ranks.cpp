// World and both transports on real processes.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "comm/background_gather.h"
#include "comm/communicator.h"
#include "comm/exchange_cases.h"
#include "comm/transports/hosts_communicator.h"
#include "comm/transports/staged_communicator.h"
#include "comm/world/agreement.h"
#include "comm/world/runtime.h"
#include "device/cpu/cpu_device.h"
#include "support/ranks_test.h"

namespace {
int longest_message = 0;  ///< bytes
}  // namespace

/// Replaces MPI's function through the profiling interface, to record message lengths.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group,
                         MPI_Request* request) {
  longest_message = std::max(longest_message, count);
  return PMPI_Isend(data, count, type, to, tag, group, request);
}

namespace lockstep {
namespace {

/// Sums two steps of gradients: chunk by chunk or, if `at_once`, all elements together and in place, as for
/// norms.
void check_canonical(const World& world, Communicator& communicator, std::uint32_t leaves, int executors,
                     std::size_t elements, bool at_once) {
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  std::vector<float> sum(elements);
  RankGradients gradients(leaves, world.size(), world.rank(), executors, elements);
  const Slices slices = even_slices(elements, world.size());
  const auto sums = plan_canonical_sums(communicator, gradients.options(), slices);
  const auto gather = plan_arena_gather(communicator, sum, slices);
  const auto program = device->record([&] {
    Stream& stream = *device->streams()[0];
    sums->ready(stream, 0);
    if (at_once) {
      const float* const own = sums->sum(stream);
      const auto [first, last] = sums->owned();
      stream.call([own, count = last - first, to = sum.data() + first] { std::copy_n(own, count, to); },
                  Phase::reduce);
    } else {
      while (const auto chunk = sums->next(stream)) {
        gradients.summation().fold(stream, sums->fold(), *chunk, sum.data() + chunk->begin);
      }
    }
    gather(stream);
  });
  for (int step = 0; step < 2; ++step) {
    std::ranges::fill(sum, -1.0F);
    program->run();
    std::vector<float> expected(elements);
    for (std::size_t e = 0; e < elements; ++e) expected[e] = reference_sum(0, leaves, e);
    EXPECT_TRUE(sum == expected) << leaves << " leaves in the order of the tree";
    gradients.compute_again();
  }
}

void check_exchange(Communicator& communicator, std::size_t elements, Memory memory) {
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  for (const ExchangeCase& c : exchange_cases(communicator.size(), elements)) {
    ExchangingRank rank(c, communicator, *device, call_on_host, memory);
    for (int run = 0; run < 2; ++run) EXPECT_TRUE(rank.run(run) == expected_results(c, run)) << c;
  }
}

void check_communicator(const World& world, Communicator& communicator, std::size_t most_elements) {
  EXPECT_EQ(communicator.rank(), world.rank());
  EXPECT_EQ(communicator.size(), world.size());
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  for (const Memory memory : {Memory::own, Memory::shared, Memory::common}) {
    for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{17}, most_elements}) {
      check_exchange(communicator, elements, memory);
    }
    expect_gathers_and_reduces(communicator, *device, memory);
  }
  for (const std::uint32_t leaves : {1u, 2u, 5u, 16u}) {
    check_canonical(world, communicator, leaves, 2, 5000, false);
    check_canonical(world, communicator, leaves, 2, 5000, true);
    check_canonical(world, communicator, leaves, 1, most_elements / 3, false);
  }
  communicator.check();
}

void check_transport(const World& world, Transport transport) {
  const auto communicator = make_communicator(world, transport);
  check_communicator(world, *communicator, 40009);
  // Every second rank has its arenas in device memory.
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto staged = make_staged_communicator(*communicator, *device);
  check_communicator(world, world.rank() % 2 == 1 ? *staged : *communicator, 30011);
}

/// Checks the world's ranks as if they were on several hosts. `boundaries`: first rank of each host.
void check_hosts(const World& world, const std::vector<std::size_t>& boundaries) {
  const HostRanks hosts(boundaries, static_cast<std::size_t>(world.rank()));
  const MpiGroup host = MpiGroup::split(world.runtime().ranks.world.get(), static_cast<int>(hosts.host()), 0);
  Watch unwatched;  // the world's watch expects all ranks on one host
  const auto communicator = make_hosts_communicator(world.runtime().ranks.world, host, hosts, unwatched);
  ASSERT_NE(communicator, nullptr) << "hosts share memory";
  check_communicator(world, *communicator, 40009);
  for (const std::uint32_t leaves : {3u, 7u, 12u, 31u}) {
    for (const bool at_once : {false, true}) {
      check_canonical(world, *communicator, leaves, 3, 3000, at_once);
    }
  }
  // All ranks, or every second one, have their arenas in device memory.
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto staged = make_staged_communicator(*communicator, *device);
  for (Communicator* mixed : {staged.get(), world.rank() % 2 == 1 ? staged.get() : communicator.get()}) {
    check_exchange(*mixed, 3011, Memory::own);
    expect_gathers_and_reduces(*mixed, *device);
    check_canonical(world, *mixed, 12, 2, 3000, false);
    check_canonical(world, *mixed, 12, 2, 3000, true);
  }
}

class Communication : public test::RanksTest {};
class AbandonedTransfer : public test::RanksTest {};

TEST_F(Communication, AllRanksOfMpirunAreOnThisHost) {
  int size = 1;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {  // set by Open MPI and by MPICH
    if (const char* value = std::getenv(name)) size = std::stoi(value);
  }
  EXPECT_EQ(world().size(), size);
  EXPECT_EQ(world().hosts(), 1);
  EXPECT_EQ(world().local_rank(), world().rank());
}

/// Even and odd ranks act as two hosts, the even ones first.
TEST_F(Communication, RanksOfAHostAreContiguous) {
  const MPI_Comm all = world().runtime().ranks.world.get();
  const MpiGroup host = MpiGroup::split(all, world().rank() % 2, 0);
  const RanksByHost ranks = number_by_host(all, host);
  const int evens = (world().size() + 1) / 2;
  EXPECT_EQ(ranks.world.rank(), world().rank() % 2 == 0 ? world().rank() / 2 : evens + world().rank() / 2);
  const bool alone = world().size() == 1;
  EXPECT_EQ(ranks.boundaries, alone ? std::vector({0, 1}) : std::vector({0, evens, world().size()}));
}

/// A failed inner agreement keeps its rank and category.
TEST_F(Communication, AgreementThrowsOnEveryRank) {
  const int failing = world().size() - 1;
  try {
    world().agree([&] {
      world().agree([&] {
        if (world().rank() == failing) throw Error(Category::data, "the reason");
      });
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const PeerFailure& error) {
    EXPECT_NE(world().rank(), failing);
    EXPECT_EQ(error.category(), Category::data);
  } catch (const Error& error) {
    EXPECT_EQ(world().rank(), failing);
    EXPECT_STREQ(error.what(), "the reason");
    EXPECT_EQ(dynamic_cast<const AgreedError*>(&error) == nullptr, world().size() == 1);
  }
  world().agree([] {});
}

TEST_F(Communication, WorldGathersAndBroadcasts) {
  const std::array<int, 2> own{world().rank(), 7 * world().rank()};
  const std::vector<std::byte> all = world().all_gather(std::as_bytes(std::span(own)));
  ASSERT_EQ(all.size(), sizeof own * static_cast<std::size_t>(world().size()));
  for (int rank = 0; rank < world().size(); ++rank) {
    std::array<int, 2> theirs{};
    std::memcpy(theirs.data(), all.data() + static_cast<std::size_t>(rank) * sizeof theirs, sizeof theirs);
    EXPECT_EQ(theirs, (std::array<int, 2>{rank, 7 * rank}));
  }
  for (const int from : {0, world().size() - 1}) {
    for (const std::string text : {"", "what one rank says"}) {
      const std::string mine =
          world().rank() == from ? text : std::string(static_cast<std::size_t>(world().rank()), '-');
      const std::vector<std::byte> heard = world().broadcast(std::as_bytes(std::span(mine)), from);
      EXPECT_TRUE(std::ranges::equal(heard, std::as_bytes(std::span(text))));
    }
  }
}

TEST_F(Communication, WorldSumsInPieces) {
  const auto size = static_cast<std::uint64_t>(world().size());
  std::vector<std::uint64_t> values((std::size_t{1} << 20) + 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i + static_cast<std::uint64_t>(world().rank());
  world().sum(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], size * i + size * (size - 1) / 2) << i;
  }
}

/// MPI sends longer messages only after the receiver's reply, which queues behind data in the other
/// direction.
TEST_F(Communication, TransportsBringTheBitsInShortMessages) {
  for (const Transport transport : {Transport::automatic, Transport::shared_memory, Transport::messages}) {
    check_transport(world(), transport);
  }
  const auto size = static_cast<std::size_t>(world().size());
  if (size > 1) check_hosts(world(), {0, 1, size});
  if (size > 2) check_hosts(world(), {0, size - 1, size});
  if (size > 3) check_hosts(world(), {0, 1, size / 2 + 1, size});
  EXPECT_LE(longest_message, 64000);
  EXPECT_TRUE(size == 1 || longest_message > 30000) << "messages are needlessly short";
}

/// Begins a transfer in which the other side never takes part, as after an error. `senders`: the sending
/// ranks begin it; otherwise rank 0 does.
void check_abandoned_gather(const World& world, bool senders) {
  constexpr std::size_t bytes = 3 << 20;
  static std::vector<std::vector<std::byte>> memory;  // must stay valid until the process ends
  const auto new_memory = [&] { return std::span(memory.emplace_back(bytes, std::byte(world.rank()))); };
  const auto start = [&](BackgroundGather& gather) {
    std::vector<std::span<const std::byte>> own{new_memory()};
    std::vector<std::vector<std::span<std::byte>>> parts;
    for (int rank = 0; rank < world.size(); ++rank) parts.push_back({new_memory()});
    gather.start(own, parts);
    return parts;
  };
  {
    BackgroundGather left(world);
    if ((world.rank() != 0) == senders) start(left);
    EXPECT_TRUE(world.rank() == 0 || left.pending() == senders)
        << "a transfer without the other side is pending";
  }
  world.barrier();
  BackgroundGather next(world);
  const auto parts = start(next);
  next.wait();
  EXPECT_TRUE(!next.pending() && next.poll()) << "the next transfer is done";
  for (std::size_t rank = 1; world.rank() == 0 && rank < parts.size(); ++rank) {
    EXPECT_TRUE(parts[rank][0].front() == std::byte(rank) && parts[rank][0].back() == std::byte(rank))
        << "and has brought the data";
  }
}

TEST_F(AbandonedTransfer, LeavesRanksThatWorkOnAndEnd) {
  check_abandoned_gather(world(), true);
  check_abandoned_gather(world(), false);
}

}  // namespace
}  // namespace lockstep
