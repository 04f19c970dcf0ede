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

struct HostParts;
class World;

/// Exchange between ranks. Every rank calls the same methods in the same order. No call may follow an
/// error. A rank whose peers do not make the call waits until its watchdog ends it (watch/watch.h).
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Human-readable name of the transport: "none" (one rank), "shared memory", "messages", "shared memory and
  /// messages".
  virtual std::string name() const { return "none"; }

  /// Allocates `count` arenas of `elements` zeroed floats, aligned to 4,096 bytes, in memory that peers can
  /// read, so that exchanges copy less. The arenas live as long as the communicator, and use physical memory
  /// only once they are written to. Empty if memory cannot be shared. Collective; counts may differ between
  /// ranks.
  virtual std::vector<Buffer> shared_arenas(std::size_t /*count*/, std::size_t /*elements*/) { return {}; }
  /// Allocates one arena that all ranks of a host share: data gathered into it need not be copied between the
  /// ranks. Empty if memory cannot be shared. Collective.
  virtual Buffer common_arena(std::size_t /*elements*/) { return {}; }

  /// Parts of a communicator that spans several hosts and uses shared memory within them
  /// (comm/host_ranks.h); null for all other communicators.
  virtual const HostParts* host_parts() const { return nullptr; }

  // The following make plans of a step's exchanges (comm/exchange.h). Collective.

  virtual std::unique_ptr<SumExchange> plan_sum(SumLayout layout) = 0;
  /// Bytes [bounds[i], bounds[i + 1]) of `all` belong to rank i.
  virtual Gather plan_gather(std::span<std::byte> all, std::span<const std::size_t> bounds) = 0;
  virtual AllReduce plan_all_reduce(std::span<float> values) = 0;

  /// Stream for exchanges that begin after the work recorded on `stream` so far, and run concurrently with
  /// its later work. Returns `stream` itself if exchanges cannot overlap other work. Until join(), exchanges
  /// on other streams wait for the forked ones.
  virtual Stream& fork(Stream& stream) { return stream; }
  /// Makes later work on `stream` wait for the forked exchanges.
  virtual void join(Stream& /*stream*/) {}

  // The following use host memory and are complete on return. Collective. Waiting yields the core.

  /// Concatenation of every rank's `own` (lengths `bytes[rank]`) in rank order into `all`. For small data.
  virtual void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                                std::span<std::byte> all) = 0;
  virtual void barrier() = 0;

  /// Throws Error(peer) if an exchange that was submitted to a device has failed. Does not block: code that
  /// waits outside the communicator calls it repeatedly.
  virtual void check() {}
};

/// Communicator that delegates immediate exchanges to `host`, a communicator of the same ranks, which must
/// outlive it.
class CommunicatorOfHost : public Communicator {
 public:
  explicit CommunicatorOfHost(Communicator& host) : host_(host) {}
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                        std::span<std::byte> all) override {
    host_.all_gather_bytes(own, bytes, all);
  }
  void barrier() override { host_.barrier(); }
  void check() override { host_.check(); }

 protected:
  Communicator& host_;
};

/// Returns the values of all ranks, in rank order; for small types without pointers. Collective.
template <class T>
std::vector<T> all_gather(Communicator& communicator, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(communicator.size()));
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  communicator.all_gather_bytes(std::as_bytes(std::span(&own, 1)), bytes,
                                std::as_writable_bytes(std::span(all)));
  return all;
}

/// Plans a gather of an arena; rank i contributes its slice, as in `slices`. Collective.
Gather plan_arena_gather(Communicator& communicator, std::span<float> arena, const Slices& slices);

/// Makes a communicator over `world`, which must outlive it: self for one rank; shared memory if all ranks
/// are on one host that allows it; shared memory within hosts and messages between them if hosts have several
/// ranks (comm/host_ranks.h); messages otherwise. Throws Error(resource) if `transport` requires shared
/// memory and the ranks cannot share memory.
std::unique_ptr<Communicator> make_communicator(const World& world, Transport transport);

/// Allocates `count` shared arenas if possible, else arenas in memory of `device`. Collective.
std::vector<Buffer> allocate_arenas(Communicator& communicator, Device& device, std::size_t count,
                                    std::size_t elements);

/// Communicator of one rank, for memory of any device.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace lockstep
