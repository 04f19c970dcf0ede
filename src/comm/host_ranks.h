#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace lockstep {

/// Ranks on several hosts, where ranks of one host share memory. Data travels between hosts between one rank
/// of each: the owner of a slice, and on every other host the local rank to whose share the slice belongs.
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
  /// Rank of `host` to whose share the slice of `owner` belongs; on the owner's host, the owner.
  std::size_t partner(std::size_t owner, std::size_t host) const;
  /// Boundaries of the shares that this host's ranks have in the slices of the ranks of `host`. The
  /// boundaries of these slices are bounds[first(host)] to bounds[first(host + 1)].
  std::vector<std::size_t> shares(std::span<const std::size_t> bounds, std::size_t host) const;

 private:
  std::vector<std::size_t> boundaries_;
  std::size_t rank_, host_;
};

/// Communicator over several hosts.
class HostsCommunicator : public Communicator {
 public:
  virtual const HostRanks& hosts() const = 0;
  /// Connects the ranks of this host.
  virtual Communicator& within_host() = 0;
  /// Same as plan_sum, for partial sums of whole hosts. layout.own: those of this host; all its ranks pass
  /// the same, but each has computed only the elements of its shares. layout.counts: of every host. Inputs of
  /// a chunk are in the order of hosts.
  virtual std::unique_ptr<SumExchange> plan_host_sums(SumLayout layout) = 0;
};

}  // namespace lockstep
