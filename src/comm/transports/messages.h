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
  /// Duplicates `group`, which has all ranks; `watch` must outlive this object. Collective.
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

  /// send() and receive() start a message of at most 2 GB and add it to `requests`. Messages between two
  /// ranks with the same tag stay in order. Empty messages are neither sent nor received.
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

/// Exchanges messages in rounds. Several rounds are in transit at once, so that the link is busy while a rank
/// handles data that has arrived.
class MessageRounds {
 public:
  /// `bytes`: number of bytes received in a round; `messages` must outlive this object.
  MessageRounds(const Messages& messages, std::size_t bytes);

  /// Maximum number of rounds in transit.
  std::size_t in_transit() const { return requests_.size(); }
  /// Starts as many rounds as may be in transit, each by start(round, requests), then waits for `round` of
  /// `rounds`. To be called for all rounds in order.
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

// Functions that make plans; `messages` and `group` must outlive the plans.

/// Same as Communicator::plan_sum, but along `routes`. Every slice has as many inputs as the sum of
/// layout.counts.
std::unique_ptr<SumExchange> plan_message_sums(const Messages& messages, SumLayout layout, Routes routes);
/// Receives the part of each owner in `routes`, and sends this rank's part to the sources in `routes`.
Gather plan_message_gather(const Messages& messages, std::span<std::byte> all,
                           std::span<const std::size_t> bounds, const Routes& routes);
/// Sums `values` over all ranks with MPI_Allreduce, in host memory; in a run, `start` completes the sum.
/// `watch` must outlive the plan.
AllReduce plan_mpi_all_reduce(const MpiGroup& group, Watch& watch, std::span<float> values);

}  // namespace lockstep
