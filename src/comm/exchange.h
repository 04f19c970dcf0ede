#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"

/// The ways of a gradient between ranks, as plans: a Communicator makes them collectively, once per kind of
/// step; they are given to a stream while a recording is described, by all ranks in the same order, and take
/// part in each run. Memory is that of the communicator's device. A plan is outlived by its communicator and
/// by the memory that it is made for, and outlives the programs that it is part of. In a run, waiting yields
/// the core and polls for the end of a peer (Error(peer)); nothing is allocated after the first.
namespace lockstep {

/// Element boundaries of the part of an arena that each rank owns: size() + 1 ascending entries.
using Slices = std::vector<std::size_t>;

/// `elements` cut into `parts` slices of nearly equal length, boundaries at multiples of 16.
Slices even_slices(std::size_t elements, int parts);

/// Partial sums that the ranks bring to a sum, each a whole arena.
struct SumLayout {
  std::vector<float*> own;            ///< this rank's
  std::vector<std::uint32_t> counts;  ///< number of partial sums of every rank; counts[rank] == own.size()
  Slices slices;                      ///< what each rank owns

  /// Number of partial sums of all ranks.
  std::size_t inputs() const;
};

/// A part of the slice that this rank owns: elements [begin, end) of the arena.
struct SumChunk {
  std::size_t begin = 0, end = 0;
  /// Addresses of element `begin` of all partial sums: rank 0's, rank 1's, ... The plan's memory. CPU: filled
  /// in each run, so read by recorded work only.
  std::span<const float* const> inputs;

  std::size_t size() const { return end - begin; }
};

/// Brings all ranks' partial sums to the owner of each slice.
class SumExchange {
 public:
  virtual ~SumExchange() = default;
  /// Elements from `begin` on of this rank's partial sums are final: what can be exchanged of them may begin,
  /// beside what makes the others. `begin` descends in a step; where one rank calls it, all call ready(0)
  /// before anything else is exchanged.
  virtual void ready(Stream& /*stream*/, std::size_t /*begin*/) {}
  /// Records what brings the next chunk, in ascending order; nothing after the last, and the following call
  /// begins the next step's. Work recorded before the following call may read the inputs, and overwrite those
  /// of this rank. Peers may read this rank's partial sums where they are: before a later step writes to
  /// them, a Gather of the same slices is recorded.
  virtual std::optional<SumChunk> next(Stream& stream) = 0;
};

/// Records what brings to all ranks what each has written to its part of the memory that it is planned for.
using Gather = std::function<void(Stream&)>;

/// Sum of floats over ranks, on every rank, in place; the order of additions is the library's.
struct AllReduce {
  /// Records its start. Work recorded later may run beside it, where the device can do that.
  std::function<void(Stream&)> start;
  /// Records its end: work recorded later finds the sum, work recorded before neither reads nor writes it.
  std::function<void(Stream&)> finish = [](Stream& /*stream*/) {};
};

/// Records a call of `work`, a part of an exchange that the host does.
inline auto call_in_each_run(std::function<void()> work) {
  return [work = std::move(work)](Stream& stream) { stream.call(work, Phase::reduce); };
}

}  // namespace lockstep
