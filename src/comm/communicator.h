#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "lockstep/transport.h"

namespace lockstep {

class World;

/// Element boundaries of the part of an arena that each rank owns: size() + 1 ascending entries.
using Slices = std::vector<std::size_t>;

/// `elements` cut into `parts` slices of nearly equal length, boundaries at multiples of 16.
Slices even_slices(std::size_t elements, int parts);

/// What a communicator keeps of partial sums from one exchange of them to the next. A copy begins with
/// nothing: it is of other partial sums.
class Kept {
 public:
  struct State {
    virtual ~State() = default;
  };
  Kept() = default;
  Kept(const Kept& /*other*/) {}
  Kept(Kept&&) = default;
  Kept& operator=(Kept other) {
    state = std::move(other.state);
    return *this;
  }
  ~Kept() = default;
  std::unique_ptr<State> state;
};

/// Partial sums that the ranks bring to a canonical sum, and where its results go. Without results an
/// exchange only brings partial sums; without partial sums it only brings results. A rank may do these one
/// after the other, in two exchanges, while the others do both in one.
struct PartialSums {
  std::vector<float*> own;            ///< this rank's partial sums, each a whole arena
  std::vector<std::uint32_t> counts;  ///< number of partial sums of every rank; counts[rank] == own.size()
  Slices slices;
  /// An arena; its slice of this rank is what this rank makes of the sum; or empty.
  std::span<float> results = {};
  Kept kept = {};  ///< the communicator's; one that exchanged these is the only one that does
};

/// Collectives of the step. Every rank calls the same methods in the same order; calls return when done.
/// Waiting yields the core and polls for the abort of a peer. Methods throw Error(peer) when a peer is gone.
/// Nothing is allocated after the first call with the same arguments.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How data travels, for people: "none" (one rank), "shared memory", "messages".
  virtual std::string name() const { return "none"; }

  /// `count` arenas of `elements` floats, zeroed and aligned to 4,096 bytes, that the peers see too, so that
  /// an exchange of them copies less; they live as long as the communicator. Empty where memory cannot be
  /// shared: take the device's. Collective; every rank's count is its own. Costs memory when written to.
  virtual std::vector<Buffer> shared_arenas(std::size_t /*count*/, std::size_t /*elements*/) { return {}; }
  /// One such arena that is the same memory on all ranks: results that go there need not travel. Empty where
  /// it cannot be had. Collective.
  virtual Buffer common_arena(std::size_t /*elements*/) { return {}; }

  /// Brings, chunk by chunk, all ranks' partial sums over the slice that this rank owns, and each owner's
  /// slice of the results to all ranks. Calls `use(inputs, begin, end)` for consecutive chunks [begin, end)
  /// of the own slice, which writes results[begin, end): inputs[i] points to the chunk's first element
  /// (element `begin`) of partial sum i, counted over rank 0's, rank 1's, ... Inputs are valid during the
  /// call only; those of this rank are where they were, and `use` may write to them. Partial sums may be
  /// reused when exchange returns.
  using UseChunk =
      std::function<void(std::span<const float* const> inputs, std::size_t begin, std::size_t end)>;
  virtual void exchange(PartialSums& partials, const UseChunk& use) = 0;

  /// Concatenation of every rank's `own` (lengths `bytes[rank]`) in rank order into `all`. For small data.
  virtual void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                                std::span<std::byte> all) = 0;

  /// Sum over ranks, on every rank; order of additions is the library's.
  virtual void all_reduce(std::span<float> values) = 0;

  /// The same, begun: work that is given to the device meanwhile may run beside it, where the device can do
  /// that. The caller neither reads nor writes `values` before finish_all_reduces. Every rank begins the same
  /// sums in one order.
  virtual void start_all_reduce(std::span<float> values) { all_reduce(values); }
  /// After this all sums that were begun are there; any other exchange does it first.
  virtual void finish_all_reduces() {}

  virtual void barrier() = 0;

  /// Throws Error(peer) when it is known that a peer is gone or that what was given to a device has failed.
  /// Does not wait: for waits outside of the communicator. No call may follow an error.
  virtual void check() {}
};

/// A communicator over the world, which outlives it: self for one rank, shared memory where all ranks are on
/// one host that allows it, messages otherwise. Forcing shared memory where it cannot be had:
/// Error(resource).
std::unique_ptr<Communicator> make_communicator(const World& world, Transport transport);

/// `count` shared arenas where they can be had, else memory of the device. Collective.
std::vector<Buffer> allocate_arenas(Communicator& communicator, Device& device, std::size_t count,
                                    std::size_t elements);

std::unique_ptr<Communicator> make_self_communicator();
/// The same for memory of a device: its methods are called inside of work enqueued on `stream`.
std::unique_ptr<Communicator> make_self_communicator(Device& device, Stream& stream);
std::unique_ptr<Communicator> make_message_communicator(const World& world);
/// Null where a shared mapping cannot be made (agreed by all ranks).
std::unique_ptr<Communicator> make_shared_memory_communicator(const World& world);

/// `ranks` communicators for as many threads of this process: tests of everything above without MPI.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks);

}  // namespace lockstep
