#include "train/loop/replica_vote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace lockstep {

ReplicaVote vote(std::span<const ReplicaHash> ranks) {
  std::set<std::pair<std::uint64_t, std::array<std::uint64_t, 2>>> copies;
  std::map<std::array<std::uint64_t, 2>, std::size_t> votes;
  for (const ReplicaHash& rank : ranks) {
    if (copies.emplace(rank.memory, rank.hash).second) ++votes[rank.hash];
  }
  if (votes.size() <= 1) return {};
  const auto most = std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; });
  ReplicaVote result{.differing = {}, .majority = 2 * most->second > copies.size()};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!result.majority || ranks[rank].hash != most->first)
      result.differing.push_back(static_cast<int>(rank));
  }
  return result;
}

std::string message_of(const ReplicaVote& vote, std::span<const std::string> hosts, std::uint64_t step) {
  std::string names = vote.differing.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < vote.differing.size(); ++i) {
    const int rank = vote.differing[i];
    const char* const separator = i == 0 ? "" : i + 1 == vote.differing.size() ? " and " : ", ";
    names += fmt::format("{}{} (host {})", separator, rank, hosts[static_cast<std::size_t>(rank)]);
  }
  return fmt::format(
      "after step {}, the parameters of {} differ from {}: a broken memory or device, or a defect of "
      "lockstep; continue from the newest checkpoint, before which they were compared (--resume auto), and "
      "if it happens again without {}",
      step, names,
      vote.majority ? "those of the other ranks"
                    : "each other, and there is no majority to show which are right",
      vote.majority ? "that host" : "one of the hosts");
}

}  // namespace lockstep
