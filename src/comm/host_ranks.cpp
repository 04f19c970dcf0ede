#include "comm/host_ranks.h"

#include <algorithm>

namespace lockstep {

HostRanks::HostRanks(std::vector<std::size_t> boundaries, std::size_t rank)
    : boundaries_(std::move(boundaries)), host_(host_of(rank)) {}

std::size_t HostRanks::host_of(std::size_t rank) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(boundaries_, rank) - boundaries_.begin()) - 1;
}

std::size_t HostRanks::partner(std::size_t owner, std::size_t host) const {
  const std::size_t owners = host_of(owner);
  return first(host) + (owner - first(owners)) * size(host) / size(owners);
}

std::vector<std::size_t> HostRanks::shares(std::span<const std::size_t> bounds, std::size_t host) const {
  const std::size_t ranks = size(host_), owners = size(host);
  std::vector<std::size_t> shares;
  for (std::size_t i = 0; i <= ranks; ++i) {  // the first owner whose partner is local rank i or a later one
    shares.push_back(bounds[first(host) + (i * owners + ranks - 1) / ranks]);
  }
  return shares;
}

}  // namespace lockstep
