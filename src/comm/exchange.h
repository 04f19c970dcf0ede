#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"

/// Exchanges between ranks, as plans. A Communicator makes them collectively, once per kind of step. All
/// ranks record them in the same order, and they take part in each run. Memory is that of the communicator's
/// device. A plan outlives the programs that it is recorded in; its communicator and the memory that it is
/// made for outlive the plan. In a run, waiting yields the core, and nothing is allocated after
/// the first one.
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

/// Brings all ranks' partial sums to the owner of each slice.
class SumExchange {
 public:
  virtual ~SumExchange() = default;
  /// Declares elements from `begin` on of this rank's partial sums final: their exchange may begin while
  /// earlier elements are computed. `begin` descends within a step. If one rank calls it, all ranks call
  /// ready(0) before any other exchange.
  virtual void ready(Stream& /*stream*/, std::size_t /*begin*/) {}
  /// Records the transfer of the next chunk, in ascending order. Returns nothing after the last one; the
  /// following call then begins with the first again, for the next step. Work recorded before the following
  /// call may read the inputs and overwrite those of this rank. Peers may read this rank's partial sums in
  /// place: a Gather of the same slices is recorded before a later step writes to them.
  virtual std::optional<SumChunk> next(Stream& stream) = 0;
};

/// Records the transfer of each rank's part to all ranks, in the planned memory.
using Gather = std::function<void(Stream&)>;

/// Sum of floats over ranks, on every rank, in place; the order of additions is the library's.
struct AllReduce {
  /// Records the start of the sum. Work recorded later may run beside it, if the device can do that.
  std::function<void(Stream&)> start;
  /// Records the end of the sum. Work recorded later finds it; work recorded between the two neither reads
  /// nor writes it.
  std::function<void(Stream&)> finish = [](Stream& /*stream*/) {};
};

/// Function that records a call of `work`, the host's part of an exchange.
inline auto call_in_each_run(std::function<void()> work) {
  return [work = std::move(work)](Stream& stream) { stream.call(work, Phase::reduce); };
}

}  // namespace lockstep
