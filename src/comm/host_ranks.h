#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace lockstep {

/// Ranks on several hosts that share memory within a host. On each host, one rank exchanges a slice with the
/// other hosts: the owner of the slice on its own host, elsewhere the rank whose share contains the slice.
class HostRanks {
 public:
  /// `boundaries`: first rank of every host, then the number of ranks; `rank`: this rank.
  HostRanks(std::vector<std::size_t> boundaries, std::size_t rank);

  std::size_t hosts() const { return boundaries_.size() - 1; }
  /// This rank's host.
  std::size_t host() const { return host_; }
  std::size_t first(std::size_t host) const { return boundaries_[host]; }
  std::size_t size(std::size_t host) const { return boundaries_[host + 1] - boundaries_[host]; }
  std::size_t host_of(std::size_t rank) const;
  /// Rank of `host` whose share contains the slice of `owner`; on the owner's host, `owner` itself.
  std::size_t partner(std::size_t owner, std::size_t host) const;
  /// Divides the slices of the ranks of `host` among the ranks of this host: returns the boundaries of their
  /// shares. `bounds`: boundaries of the slices of all ranks.
  std::vector<std::size_t> shares(std::span<const std::size_t> bounds, std::size_t host) const;

 private:
  std::vector<std::size_t> boundaries_;
  std::size_t host_;
};

/// Parts of a communicator over several hosts whose ranks share memory within a host.
struct HostParts {
  HostRanks hosts;
  Communicator& within;  ///< connects the ranks of this host
  /// Same as Communicator::plan_sum, for partial sums of whole hosts. layout.own: this host's sums; all ranks
  /// of the host pass the same, but each has computed only the elements of its shares. layout.counts: number
  /// of sums of every host. Inputs of a chunk are in the order of hosts. Collective.
  std::function<std::unique_ptr<SumExchange>(SumLayout layout)> plan_sum_of_hosts;
};

}  // namespace lockstep
