#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "comm/exchange.h"

namespace lockstep {

/// Limits on the length of a chunk.
struct ChunkLimits {
  std::size_t staging;            ///< target for the total number of elements of a round's inputs
  std::size_t smallest, largest;  ///< bounds of the number of elements of a chunk

  /// Number of elements of a chunk that has `inputs` inputs; a multiple of 16.
  std::size_t chunk(std::size_t inputs) const;
};

/// A SumExchange in rounds. Each round gives every owner the inputs of one chunk of its slice. All ranks take
/// part in all rounds.
class SumsInRounds : public SumExchange {
 public:
  std::optional<SumChunk> next(Stream& stream) final;

 protected:
  /// `rank`: number of this rank; `chunk`: elements of a slice per round.
  SumsInRounds(std::size_t rank, SumLayout layout, std::size_t chunk);

  /// Records the transfer of the chunks of `round`.
  virtual void record_round(Stream& stream, std::size_t round) = 0;
  /// Records work that follows the use of the last round's chunks.
  virtual void end(Stream& /*stream*/) {}

  std::size_t rounds() const { return inputs_.size(); }
  std::size_t chunk() const { return chunk_; }
  /// First element and length of the chunk of `owner`'s slice in `round`; the length is 0 after the slice's
  /// last chunk.
  std::size_t begin(std::size_t owner, std::size_t round) const;
  std::size_t length(std::size_t owner, std::size_t round) const;
  /// Addresses of the inputs of this rank's chunk, to be filled in by the derived class.
  std::vector<const float*>& inputs(std::size_t round) { return inputs_[round]; }

  const std::size_t rank_;
  const SumLayout layout_;

 private:
  std::size_t chunk_;
  std::vector<std::vector<const float*>> inputs_;  ///< inputs of each round
  std::size_t next_ = 0;                           ///< round to be recorded
};

/// Sums of arenas that this rank reads in place.
class SumsInPlace final : public SumsInRounds {
 public:
  /// `partials`: arenas of all ranks; `meet` records a barrier of all ranks.
  SumsInPlace(std::size_t rank, const Slices& slices, std::size_t chunk,
              const std::vector<const float*>& partials, std::function<void(Stream&)> meet);

 private:
  void record_round(Stream& stream, std::size_t round) override;

  std::function<void(Stream&)> meet_;
};

/// Ranks that a rank exchanges slices with.
struct Routes {
  std::vector<std::size_t> sources;  ///< ranks with partial sums of this rank's slice, including this rank
  std::vector<std::size_t> owners;   ///< other ranks whose slices this rank has partial sums of
};

/// Routes of a rank that has partial sums of all slices. The first owner is the next rank, so that the ranks
/// do not all send to the same one at once.
Routes routes_to_all(std::size_t rank, std::size_t size);

/// `elements` rounded up to a multiple of 64, so that floats stored after them begin at a cache line.
constexpr std::size_t whole_lines(std::size_t elements) { return (elements + 63) / 64 * 64; }

/// Sums of arenas whose parts are copied between ranks. Inputs are in the order of `routes.sources`;
/// layout.counts has the number from each.
class RoutedSums : public SumsInRounds {
 protected:
  RoutedSums(std::size_t rank, SumLayout layout, Routes routes, std::size_t chunk);

  /// Number of inputs that come from other ranks.
  std::size_t arrivals() const { return layout_.inputs() - layout_.own.size(); }
  /// Distance in memory from one arrival to the next, in elements: the length of the longest chunk of this
  /// rank's slice, rounded up.
  std::size_t arrival_stride() const;
  /// Places the arrivals of `round` at `memory`; this rank's inputs stay in place.
  void place_inputs(std::size_t round, float* memory);
  /// Calls receive(bytes, source, i) for each arrival of `round`, the ith of its source, then
  /// send(bytes, owner, i) for the parts of this rank's ith partial sum.
  template <class Receive, class Send>
  void transfer(std::size_t round, const Receive& receive, const Send& send) {
    auto input = inputs(round).begin();
    for (std::size_t source = 0; source < routes_.sources.size(); ++source) {
      for (std::size_t i = 0; i < layout_.counts[source]; ++i, ++input) {
        if (routes_.sources[source] == rank_) continue;
        const std::span<float> arrival(const_cast<float*>(*input), length(rank_, round));
        receive(std::as_writable_bytes(arrival), routes_.sources[source], i);
      }
    }
    for (const std::size_t owner : routes_.owners) {
      for (std::size_t i = 0; i < layout_.own.size(); ++i) {
        const std::span<const float> part(layout_.own[i] + begin(owner, round), length(owner, round));
        send(std::as_bytes(part), owner, i);
      }
    }
  }

 private:
  Routes routes_;
};

}  // namespace lockstep
