#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// Hash of the parameters as a rank sees them.
struct ReplicaHash {
  std::uint64_t memory = 0;  ///< equal for ranks that share one copy of the parameters
  std::array<std::uint64_t, 2> hash{};
};

/// Ranks whose parameters differ.
struct ReplicaVote {
  std::vector<int> differing;  ///< ranks that differ from the majority (all without one); empty if all equal
  bool majority = true;        ///< whether more than half of the copies are equal

  bool operator==(const ReplicaVote&) const = default;
};

/// Compares the hashes of all ranks. Each copy of the parameters has one vote, however many ranks share it.
ReplicaVote vote(std::span<const ReplicaHash> ranks);

/// Error message for ranks that differ after `step` steps. `hosts`: names by rank.
std::string message_of(const ReplicaVote& vote, std::span<const std::string> hosts, std::uint64_t step);

}  // namespace lockstep
