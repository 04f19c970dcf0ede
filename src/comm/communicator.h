#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/exchange.h"
#include "device/device.h"
#include "lockstep/execution.h"

namespace lockstep {

class World;

/// Exchange between ranks. Every rank calls the same methods in the same order. No call may follow an
/// error. A rank whose peers do not come waits until its watchdog ends it (comm/watch/watch.h).
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How data travels, for people: "none" (one rank), "shared memory", "messages", "shared memory and
  /// messages".
  virtual std::string name() const { return "none"; }

  /// `count` arenas of `elements` floats, zeroed and aligned to 4,096 bytes, that the peers see too, so that
  /// an exchange of them copies less; they live as long as the communicator. Empty where memory cannot be
  /// shared: take the device's. Collective; every rank's count is its own. Costs memory when written to.
  virtual std::vector<Buffer> shared_arenas(std::size_t /*count*/, std::size_t /*elements*/) { return {}; }
  /// One such arena that is the same memory on all ranks of a host: what is gathered there need not travel
  /// between them. Empty where it cannot be had. Collective.
  virtual Buffer common_arena(std::size_t /*elements*/) { return {}; }

  // Plans of what a step exchanges (comm/exchange.h). Collective.

  virtual std::unique_ptr<SumExchange> plan_sum(SumLayout layout) = 0;
  /// Bytes [bounds[i], bounds[i + 1]) of `all` are rank i's.
  virtual Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) = 0;
  virtual AllReduce plan_all_reduce(std::span<float> values) = 0;

  /// Stream for exchanges that run beside the work that is recorded on `stream` later, and after what has
  /// been recorded there; `stream` itself where exchanges cannot run beside other work. Until join(),
  /// exchanges on other streams wait for those beside.
  virtual Stream& beside(Stream& stream) { return stream; }
  /// Makes later work on `stream` wait for the exchanges beside it.
  virtual void join(Stream& /*stream*/) {}

  // Done on return, in the host's memory. Collective. Waiting yields the core.

  /// Concatenation of every rank's `own` (lengths `bytes[rank]`) in rank order into `all`. For small data.
  virtual void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                                std::span<std::byte> all) = 0;
  virtual void barrier() = 0;

  /// Throws Error(peer) when what was given to a device has failed. Does not wait: for waits outside of the
  /// communicator.
  virtual void check() {}
};

/// Values of all ranks, in rank order; for small types without pointers. Collective.
template <class T>
std::vector<T> all_gather(Communicator& communicator, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(communicator.size()));
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  communicator.all_gather_bytes(std::as_bytes(std::span(&own, 1)), bytes,
                                std::as_writable_bytes(std::span(all)));
  return all;
}

/// A communicator over the world, which outlives it: self for one rank; shared memory where all ranks are on
/// one host that allows it; shared memory within hosts and messages between them where hosts have several
/// ranks (comm/host_ranks.h); messages otherwise. Forcing shared memory where it cannot be had:
/// Error(resource).
std::unique_ptr<Communicator> make_communicator(const World& world, Transport transport);

/// `count` shared arenas where they can be had, else memory of the device. Collective.
std::vector<Buffer> allocate_arenas(Communicator& communicator, Device& device, std::size_t count,
                                    std::size_t elements);

/// One rank, for memory of any device.
std::unique_ptr<Communicator> make_self_communicator();
std::unique_ptr<Communicator> make_message_communicator(const World& world);
/// Null where a shared mapping cannot be made (agreed by all ranks).
std::unique_ptr<Communicator> make_shared_memory_communicator(const World& world);

/// `ranks` communicators for as many threads of this process: tests of everything above without MPI.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks);

}  // namespace lockstep
