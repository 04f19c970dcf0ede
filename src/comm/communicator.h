#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/transport.h"

namespace lockstep {

class World;

/// Element boundaries of the part of an arena that each rank owns: size() + 1 ascending entries.
using Slices = std::vector<std::size_t>;

/// `elements` cut into `parts` slices of nearly equal length, boundaries at multiples of 16.
Slices even_slices(std::size_t elements, int parts);

/// Partial sums that the ranks bring to a canonical sum.
struct PartialSums {
  std::vector<float*> own;            ///< this rank's partial sums, each a whole arena
  std::vector<std::uint32_t> counts;  ///< number of partial sums of every rank; counts[rank] == own.size()
  Slices slices;
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

  /// Brings, chunk by chunk, all ranks' partial sums over the slice that this rank owns, and what each owner
  /// made of its slice of `arena` to all ranks. Calls `use(inputs, begin, end)` for consecutive chunks
  /// [begin, end) of the own slice, which writes arena[begin, end): inputs[i] points to the chunk's first
  /// element (element `begin`) of partial sum i, counted over rank 0's, rank 1's, ... Inputs are valid during
  /// the call only. Partial sums may be reused when exchange returns.
  using UseChunk =
      std::function<void(std::span<const float* const> inputs, std::size_t begin, std::size_t end)>;
  virtual void exchange(const PartialSums& partials, std::span<float> arena, const UseChunk& use) = 0;

  /// Concatenation of every rank's `own` (lengths `bytes[rank]`) in rank order into `all`. For small data.
  virtual void all_gather_bytes(std::span<const std::byte> own, std::span<const std::size_t> bytes,
                                std::span<std::byte> all) = 0;

  /// Sum over ranks, on every rank; order of additions is the library's.
  virtual void all_reduce(std::span<float> values) = 0;

  virtual void barrier() = 0;
};

/// A communicator over the world: self for one rank, shared memory where all ranks are on one host that
/// allows it, messages otherwise. Forcing shared memory where it cannot be had: Error(resource).
std::unique_ptr<Communicator> make_communicator(const World& world, Transport transport);

std::unique_ptr<Communicator> make_self_communicator();
std::unique_ptr<Communicator> make_message_communicator(const World& world);
/// Null where a shared mapping cannot be made (agreed by all ranks).
std::unique_ptr<Communicator> make_shared_memory_communicator(const World& world);

/// `ranks` communicators for as many threads of this process: tests of everything above without MPI.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int ranks);

}  // namespace lockstep
