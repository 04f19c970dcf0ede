#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/exchange.h"
#include "comm/transports/sums_in_rounds.h"
#include "comm/world/mpi_handles.h"
#include "watch/watch.h"

namespace lockstep {

/// Messages between the ranks of a group.
class Messages {
 public:
  /// Duplicates `group`, all ranks; `watch` outlives the messages. Collective.
  Messages(const MpiGroup& group, Watch& watch)
      : group_(watch.during(Collective::start, Group::world, 0,
                            [&] { return MpiGroup::duplicate(group.get()); })),
        watch_(watch),
        rank_(static_cast<std::size_t>(group_.rank())),
        size_(static_cast<std::size_t>(group_.size())) {}

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  const MpiGroup& group() const { return group_; }
  Watch& watch() const { return watch_; }

  /// Start a message of at most 2 GB and add it to `requests`. Messages between two ranks with one tag stay
  /// in order. An empty message is neither sent nor received.
  void send(std::vector<MPI_Request>& requests, std::span<const std::byte> bytes, std::size_t peer,
            std::size_t tag = 0) const;
  void receive(std::vector<MPI_Request>& requests, std::span<std::byte> bytes, std::size_t peer,
               std::size_t tag = 0) const;
  /// Waits for all of `requests` and clears them.
  void complete(std::vector<MPI_Request>& requests) const;

 private:
  MpiGroup group_;
  Watch& watch_;
  std::size_t rank_, size_;
};

/// Messages in rounds, of which several are in transit at once, so that the link is busy while a rank handles
/// what has arrived.
class MessageRounds {
 public:
  /// `bytes`: received in a round; `messages` outlives this.
  MessageRounds(const Messages& messages, std::size_t bytes);

  /// Maximum number of rounds in transit.
  std::size_t in_transit() const { return requests_.size(); }
  /// Starts as many rounds as may be in transit, each by start(round, requests), then waits for `round` of
  /// `rounds`. Called for all rounds in order.
  template <class Start>
  void complete(std::size_t round, std::size_t rounds, const Start& start) {
    for (; started_ < std::min(round + in_transit(), rounds); ++started_) {
      start(started_, requests_[started_ % in_transit()]);
    }
    messages_->complete(requests_[round % in_transit()]);
    if (round + 1 == rounds) started_ = 0;
  }

 private:
  const Messages* messages_;
  std::vector<std::vector<MPI_Request>> requests_;  ///< requests of each round in transit
  std::size_t started_ = 0;                         ///< number of rounds started
};

// Plans; `messages` and `group` outlive them.

/// Same as Communicator::plan_sum, along `routes`. The sum of layout.counts is the number of inputs of every
/// slice.
std::unique_ptr<SumExchange> plan_message_sums(const Messages& messages, SumLayout layout, Routes routes);
/// Brings the part of each owner in `routes` to this rank, and this rank's part to its sources.
Gather plan_message_gather(const Messages& messages, std::span<std::byte> all,
                           std::span<const std::size_t> bounds, const Routes& routes);
/// MPI's sum of `values` over all ranks, in host memory; complete when `start` returns. `watch` outlives it.
AllReduce plan_mpi_all_reduce(const MpiGroup& group, Watch& watch, std::span<float> values);

}  // namespace lockstep
