#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"

/// Plans of exchanges between ranks. A Communicator makes plans collectively, once per kind of step. All
/// ranks record them in the same order and take part in each run. All memory is on the communicator's device.
/// A plan must outlive the programs that it is recorded in; its communicator and the memory it was made for
/// must outlive the plan. During a run, waiting yields the core; only the first run may allocate memory.
namespace lockstep {

/// Element boundaries of the part of an arena that each rank owns: size() + 1 ascending entries.
using Slices = std::vector<std::size_t>;

/// `elements` cut into `parts` slices of nearly equal length, boundaries at multiples of 16.
Slices even_slices(std::size_t elements, int parts);

/// Partial sums that the ranks contribute to a sum, each a whole arena.
struct SumLayout {
  std::vector<float*> own;            ///< partial sums of this rank
  std::vector<std::uint32_t> counts;  ///< number of partial sums of every rank; counts[rank] == own.size()
  Slices slices;                      ///< elements that each rank owns

  /// Number of partial sums of all ranks.
  std::size_t inputs() const;
};

/// Part of the slice that this rank owns: elements [begin, end) of the arena.
struct SumChunk {
  std::size_t begin = 0, end = 0;
  /// Addresses of element `begin` of all partial sums, in rank order, in memory of the plan. CPU: filled in
  /// each run, so only recorded work may read them.
  std::span<const float* const> inputs;

  std::size_t size() const { return end - begin; }
};

/// Sends every rank's partial sums of a slice to the owner of the slice.
class SumExchange {
 public:
  virtual ~SumExchange() = default;
  /// Declares elements from `begin` on of this rank's partial sums final: their exchange may begin while
  /// earlier elements are computed. `begin` descends within a step. If one rank calls it, all ranks call
  /// ready(0) before any other exchange.
  virtual void ready(Stream& /*stream*/, std::size_t /*begin*/) {}
  /// Records the transfer of the next chunk, in ascending order. Returns nothing after the last chunk; the
  /// call after that begins with the first chunk again, for the next step. Until the next call, recorded work
  /// may read the inputs and overwrite the inputs of this rank. Peers may read this rank's partial sums in
  /// place: a Gather of the same slices must be recorded before a later step writes to the partial sums.
  virtual std::optional<SumChunk> next(Stream& stream) = 0;
};

/// Records the transfer of each rank's part to all ranks, in the planned memory.
using Gather = std::function<void(Stream&)>;

/// Sums floats over all ranks, in place on every rank; the library determines the order of additions.
struct AllReduce {
  /// Records the start of the sum. Work recorded later may run concurrently, if the device can do that.
  std::function<void(Stream&)> start;
  /// Records the end of the sum. Work recorded later may use the sum; work recorded between `start` and
  /// `finish` must neither read nor write the values.
  std::function<void(Stream&)> finish = [](Stream& /*stream*/) {};
};

/// Returns a function that records a call of `work`, the host's part of an exchange.
inline auto call_in_each_run(std::function<void()> work) {
  return [work = std::move(work)](Stream& stream) { stream.call(work, Phase::reduce); };
}

}  // namespace lockstep
