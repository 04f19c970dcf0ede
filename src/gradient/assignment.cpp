#include "gradient/assignment.h"

#include "core/tree.h"

namespace lockstep {

Assignment assign(std::uint32_t leaves, int ranks, int rank, int executors, std::span<const double> weights) {
  Assignment assignment{
      leaves,
      weights.empty() ? partition(leaves, static_cast<std::uint32_t>(ranks)) : partition(leaves, weights),
      {}};
  const auto at = static_cast<std::size_t>(rank);
  assignment.executors =
      partition(assignment.ranks[at], assignment.ranks[at + 1], static_cast<std::uint32_t>(executors));
  return assignment;
}

Shares equal_shares(std::uint32_t leaves, std::span<const int> executors, std::span<const double> weights) {
  const int ranks = static_cast<int>(executors.size());
  Shares shares{.ranks = {0}, .leaves = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const Assignment assignment =
        assign(leaves, ranks, rank, executors[static_cast<std::size_t>(rank)], weights);
    for (std::size_t e = 0; e + 1 < assignment.executors.size(); ++e) {
      shares.leaves.push_back(assignment.executors[e + 1] - assignment.executors[e]);
    }
    shares.ranks.push_back(shares.leaves.size());
  }
  return shares;
}

Assignment assign(std::uint32_t leaves, const Shares& shares, int rank) {
  const std::vector<std::uint32_t> bounds =
      partition(leaves, std::vector<double>(shares.leaves.begin(), shares.leaves.end()));
  Assignment assignment{.leaves = leaves, .ranks = {}, .executors = {}};
  for (const std::size_t first : shares.ranks) assignment.ranks.push_back(bounds[first]);
  const auto own = shares.ranks.begin() + rank;
  assignment.executors.assign(bounds.begin() + static_cast<std::ptrdiff_t>(own[0]),
                              bounds.begin() + static_cast<std::ptrdiff_t>(own[1]) + 1);
  return assignment;
}

}  // namespace lockstep
