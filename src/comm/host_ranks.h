#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace lockstep {

/// Ranks on several hosts, those of a host sharing memory. What travels between hosts does so between one
/// rank of each: the owner of a slice, and on every other host the local rank that has it as its share.
class HostRanks {
 public:
  /// `boundaries`: first rank of every host, then the number of ranks; `rank`: this one.
  HostRanks(std::vector<std::size_t> boundaries, std::size_t rank);

  std::size_t hosts() const { return boundaries_.size() - 1; }
  /// This rank's host.
  std::size_t host() const { return host_; }
  std::size_t first(std::size_t host) const { return boundaries_[host]; }
  std::size_t size(std::size_t host) const { return boundaries_[host + 1] - boundaries_[host]; }
  std::size_t host_of(std::size_t rank) const;
  /// The rank of `host` that has what `owner` owns as its share; on the owner's host the owner.
  std::size_t partner(std::size_t owner, std::size_t host) const;
  /// Boundaries of the shares of this host's ranks in what the ranks of `host` own, whose boundaries are
  /// bounds[first(host)] to bounds[first(host + 1)].
  std::vector<std::size_t> shares(std::span<const std::size_t> bounds, std::size_t host) const;

 private:
  std::vector<std::size_t> boundaries_;
  std::size_t rank_, host_;
};

/// A communicator over several hosts.
class HostsCommunicator : public Communicator {
 public:
  virtual const HostRanks& hosts() const = 0;
  /// Connects the ranks of this host.
  virtual Communicator& within_host() = 0;
  /// As plan_sum, of partial sums that the hosts bring. layout.own: those of this host, the same on its ranks
  /// but for what they hold: elements of a rank's shares. layout.counts: of every host. Inputs of a chunk are
  /// in the order of hosts.
  virtual std::unique_ptr<SumExchange> plan_host_sums(SumLayout layout) = 0;
};

}  // namespace lockstep
