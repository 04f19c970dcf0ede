#include "reduce/assignment.h"

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

}  // namespace lockstep
