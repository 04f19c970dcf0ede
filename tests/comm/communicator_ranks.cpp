// World and both transports on real processes, against MPI itself as the oracle.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "comm/background_gather.h"
#include "comm/communicator.h"
#include "comm/transports/hosts_communicator.h"
#include "comm/transports/staged_communicator.h"
#include "comm/world/agreement.h"
#include "comm/world/runtime.h"
#include "device/cpu/cpu_device.h"
#include "gradient/gradients.h"
#include "support/ranks_test.h"

namespace {
int longest_message = 0;  ///< bytes
}  // namespace

/// Takes the place of MPI's function, as its profiling interface allows.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group,
                         MPI_Request* request) {
  longest_message = std::max(longest_message, count);
  return PMPI_Isend(data, count, type, to, tag, group, request);
}

namespace lockstep {
namespace {

bool same_bits(const float* left, const float* right, std::size_t count) {
  return count == 0 || std::memcmp(left, right, count * sizeof(float)) == 0;
}

std::vector<float> values(int rank, std::uint32_t which, std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = gradient(static_cast<std::uint32_t>(rank) * 64 + which, i);
  return result;
}

std::vector<float> allgather_by_mpi(const World& world, const std::vector<float>& own) {
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(world.size())), begins(lengths.size());
  const MPI_Comm group = world.runtime().ranks.world.get();
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, group);
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    begins[i] = total;
    total += lengths[i];
  }
  std::vector<float> all(static_cast<std::size_t>(total));
  MPI_Allgatherv(own.data(), length, MPI_FLOAT, all.data(), lengths.data(), begins.data(), MPI_FLOAT, group);
  return all;
}

/// Slices as the trainer cuts them, or all elements at the last rank.
Slices make_slices(std::size_t elements, int ranks, bool uneven) {
  if (!uneven) return even_slices(elements, ranks);
  Slices slices(static_cast<std::size_t>(ranks) + 1, 0);
  slices.back() = elements;
  return slices;
}

enum class Memory {
  own,     ///< of the process
  shared,  ///< arenas that the peers see, where the transport has such
  common,  ///< and one arena of results for all ranks
};

/// Arena of the kind that `memory` names. `common`: the same memory for all ranks of a host, if possible.
Buffer make_arena(Communicator& communicator, Device& device, std::size_t elements, Memory memory) {
  Buffer arena;
  if (memory == Memory::common) arena = communicator.common_arena(elements);
  return arena.data() != nullptr ? std::move(arena) : device.allocate(elements * sizeof(float));
}

void check_exchange(const World& world, Communicator& communicator, std::size_t elements, bool uneven,
                    Memory memory) {
  const auto rank = static_cast<std::size_t>(world.rank());
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  SumLayout layout;
  for (std::uint32_t peer = 0; peer < static_cast<std::uint32_t>(world.size()); ++peer) {
    layout.counts.push_back(peer % 3);
  }
  layout.slices = make_slices(elements, world.size(), uneven);
  const Slices slices = layout.slices;
  std::vector<Buffer> arenas;
  if (memory != Memory::own) arenas = communicator.shared_arenas(layout.counts[rank], elements);
  while (arenas.size() < layout.counts[rank]) arenas.push_back(device->allocate(elements * sizeof(float)));
  for (const Buffer& arena : arenas) layout.own.push_back(arena.floats().data());
  const std::vector<float*> own = layout.own;
  const Buffer results = make_arena(communicator, *device, elements, memory);
  const auto sums = communicator.plan_sum(std::move(layout));
  const auto gather = plan_arena_gather(communicator, results.floats(), slices);

  std::vector<float> all, result;  // of a step: all partial sums, and what this rank makes of them
  const auto use = [&](const SumChunk& chunk) {
    EXPECT_EQ(chunk.inputs.size() * elements, all.size()) << "every partial sum is there";
    for (std::size_t i = 0; i < chunk.inputs.size(); ++i) {
      EXPECT_TRUE(same_bits(chunk.inputs[i], all.data() + i * elements + chunk.begin, chunk.size()))
          << "exchange brings the bits";
    }
    for (float* partial : own) std::fill(partial + chunk.begin, partial + chunk.end, -1.0F);
    std::copy_n(result.data() + chunk.begin, chunk.size(), results.floats().data() + chunk.begin);
  };
  const auto program = device->record([&] {
    Stream& stream = *device->streams()[0];
    std::size_t next = slices[rank];
    while (const auto chunk = sums->next(stream)) {
      EXPECT_TRUE(chunk->begin == next && chunk->end > next) << "chunks are consecutive";
      next = chunk->end;
      stream.call([&use, chunk = *chunk] { use(chunk); }, Phase::reduce);
    }
    EXPECT_EQ(next, slices[rank + 1]) << "the whole slice was exchanged";
    gather(stream);
  });
  for (std::uint32_t step = 0; step < 2; ++step) {
    std::vector<float> flat;
    for (std::uint32_t i = 0; i < own.size(); ++i) {
      std::ranges::copy(values(world.rank(), 8 * step + i, elements), own[i]);
      flat.insert(flat.end(), own[i], own[i] + elements);
    }
    all = allgather_by_mpi(world, flat);
    result = values(world.rank(), 7 + 8 * step, elements);
    program->run();
    const std::vector<float> own_result(result.begin() + static_cast<std::ptrdiff_t>(slices[rank]),
                                        result.begin() + static_cast<std::ptrdiff_t>(slices[rank + 1]));
    const std::vector<float> expected = allgather_by_mpi(world, own_result);
    EXPECT_TRUE(same_bits(results.floats().data(), expected.data(), elements))
        << "every rank has every owner's results";
    communicator.barrier();  // the results may be one memory
  }
}

/// Checks gathers of small parts of different lengths, in place.
void check_gather(const World& world, Communicator& communicator, Memory memory) {
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  std::vector<std::size_t> bounds{0};
  for (int rank = 0; rank < world.size(); ++rank) {
    bounds.push_back(bounds.back() + static_cast<std::size_t>(rank * 5 % 7) * sizeof(float));
  }
  const auto own = static_cast<std::size_t>(world.rank());
  const Buffer all = make_arena(communicator, *device, bounds.back() / sizeof(float) + 1, memory);
  const auto gather = communicator.plan_gather({all.data(), bounds.back()}, bounds);
  const auto program = device->record([&] { gather(*device->streams()[0]); });
  for (std::uint32_t step = 0; step < 2; ++step) {
    const std::vector<float> part =
        values(world.rank(), step, (bounds[own + 1] - bounds[own]) / sizeof(float));
    std::ranges::copy(part, all.floats().data() + bounds[own] / sizeof(float));
    program->run();
    const std::vector<float> expected = allgather_by_mpi(world, part);
    EXPECT_TRUE(same_bits(all.floats().data(), expected.data(), expected.size())) << "gather";
    communicator.barrier();
  }
}

void check_small(const World& world, Communicator& communicator) {
  const auto length = [](int rank) { return static_cast<std::size_t>(rank * 5 % 7) * sizeof(float); };
  std::vector<std::size_t> lengths;
  for (int rank = 0; rank < world.size(); ++rank) lengths.push_back(length(rank));
  const std::vector<float> own = values(world.rank(), 1, length(world.rank()) / sizeof(float));
  const std::vector<float> expected = allgather_by_mpi(world, own);
  std::vector<float> all(expected.size());
  communicator.all_gather_bytes(std::as_bytes(std::span(own)), lengths,
                                std::as_writable_bytes(std::span(all)));
  EXPECT_TRUE(same_bits(all.data(), expected.data(), all.size())) << "all_gather_bytes";
}

void check_all_reduce(const World& world, Communicator& communicator) {
  std::vector<float> data(1000), expected = values(world.rank(), 3, 1000);
  MPI_Allreduce(MPI_IN_PLACE, expected.data(), 1000, MPI_FLOAT, MPI_SUM, world.runtime().ranks.world.get());
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto reduce = communicator.plan_all_reduce(data);
  const auto program = device->record([&] {
    reduce.start(*device->streams()[0]);
    reduce.finish(*device->streams()[0]);
  });
  for (int step = 0; step < 2; ++step) {
    std::ranges::copy(values(world.rank(), 3, 1000), data.begin());
    program->run();
    EXPECT_TRUE(same_bits(data.data(), expected.data(), data.size())) << "all_reduce";
  }
}

/// By chunks, or all elements `at_once` and in place, as for norms; two steps.
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
    EXPECT_TRUE(same_bits(sum.data(), expected.data(), elements))
        << leaves << " leaves in the order of the tree";
    gradients.compute_again();
  }
}

void check_communicator(const World& world, Communicator& communicator, std::size_t most_elements) {
  EXPECT_EQ(communicator.rank(), world.rank());
  EXPECT_EQ(communicator.size(), world.size());
  for (const std::size_t elements :
       {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{1000}, most_elements}) {
    for (const bool uneven : {false, true}) {
      for (const Memory memory : {Memory::own, Memory::shared, Memory::common}) {
        check_exchange(world, communicator, elements, uneven, memory);
      }
    }
    communicator.barrier();
  }
  check_gather(world, communicator, Memory::own);
  check_gather(world, communicator, Memory::common);
  check_small(world, communicator);
  check_all_reduce(world, communicator);
  for (const std::uint32_t leaves : {1u, 2u, 5u, 16u}) {
    check_canonical(world, communicator, leaves, 2, 5000, false);
    check_canonical(world, communicator, leaves, 2, 5000, true);
    check_canonical(world, communicator, leaves, 1, most_elements / 3, false);
  }
  communicator.check();
}

void check_transport(const World& world, Transport transport) {
  const auto communicator = make_communicator(world, transport);
  check_communicator(world, *communicator, 300007);
  // Every second rank has its arenas in a device's memory.
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto staged = make_staged_communicator(*communicator, *device);
  check_communicator(world, world.rank() % 2 == 1 ? *staged : *communicator, 30011);
}

/// Checks the ranks of the world as if they were on hosts with these first ranks.
void check_hosts(const World& world, const std::vector<std::size_t>& boundaries) {
  const HostRanks hosts(boundaries, static_cast<std::size_t>(world.rank()));
  const MpiGroup host = MpiGroup::split(world.runtime().ranks.world.get(), static_cast<int>(hosts.host()), 0);
  Watch unwatched;  // to the world's watch, the ranks are on one host
  const auto communicator = make_hosts_communicator(world.runtime().ranks.world, host, hosts, unwatched);
  ASSERT_NE(communicator, nullptr) << "hosts share memory";
  check_communicator(world, *communicator, 300007);
  for (const std::uint32_t leaves : {3u, 7u, 12u, 31u}) {
    for (const bool at_once : {false, true}) {
      check_canonical(world, *communicator, leaves, 3, 3000, at_once);
    }
  }
  // All ranks, or every second one, have their arenas in a device's memory.
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto staged = make_staged_communicator(*communicator, *device);
  for (Communicator* mixed : {staged.get(), world.rank() % 2 == 1 ? staged.get() : communicator.get()}) {
    check_exchange(world, *mixed, 3011, false, Memory::own);
    check_gather(world, *mixed, Memory::own);
    check_canonical(world, *mixed, 12, 2, 3000, false);
    check_canonical(world, *mixed, 12, 2, 3000, true);
  }
}

class Communication : public test::RanksTest {};
class AbandonedTransfer : public test::RanksTest {};

TEST_F(Communication, AllRanksOfMpirunAreOnThisHost) {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(world().size(), size == nullptr ? 1 : std::stoi(size));
  EXPECT_EQ(world().hosts(), 1);
  EXPECT_EQ(world().local_rank(), world().rank());
}

/// Even and odd ranks as two hosts: the even ones come first.
TEST_F(Communication, RanksOfAHostAreContiguous) {
  const MPI_Comm all = world().runtime().ranks.world.get();
  const MpiGroup host = MpiGroup::split(all, world().rank() % 2, 0);
  const RanksByHost ranks = number_by_host(all, host);
  const int evens = (world().size() + 1) / 2;
  EXPECT_EQ(ranks.world.rank(), world().rank() % 2 == 0 ? world().rank() / 2 : evens + world().rank() / 2);
  const bool alone = world().size() == 1;
  EXPECT_EQ(ranks.boundaries, alone ? std::vector({0, 1}) : std::vector({0, evens, world().size()}));
}

/// An inner agreement that failed keeps its own rank and category.
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
  } catch (const AgreedError& error) {
    EXPECT_EQ(world().rank(), failing);
    EXPECT_STREQ(error.what(), "the reason");
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
  for (const std::string text : {"", "what rank 0 says"}) {
    const std::string mine =
        world().rank() == 0 ? text : std::string(static_cast<std::size_t>(world().rank()), '-');
    const std::vector<std::byte> heard = world().broadcast(std::as_bytes(std::span(mine)));
    EXPECT_TRUE(std::ranges::equal(heard, std::as_bytes(std::span(text))));
  }
}

/// MPI sends longer messages after an answer of the receiver, which queues behind data of the other
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

/// Begins a transfer in which the other side takes no part, as after an error. `senders`: whether the
/// sending ranks begin it, else rank 0.
void check_abandoned_gather(const World& world, bool senders) {
  constexpr std::size_t bytes = 3 << 20;
  static std::vector<std::vector<std::byte>> memory;  // until the process ends
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
