#include "train/epoch_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

/// The same 16 bytes of every rank, in rank order.
std::vector<std::array<std::uint64_t, 2>> EpochChecks::gather(std::array<std::uint64_t, 2> own) const {
  std::vector<std::array<std::uint64_t, 2>> all(static_cast<std::size_t>(world_.size()));
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  communicator_.all_gather_bytes(std::as_bytes(std::span(own)), bytes,
                                 std::as_writable_bytes(std::span(all)));
  return all;
}

VisitSum EpochChecks::sum(const VisitSum& own) const {
  VisitSum sum;
  for (const auto& words : gather(own.words())) sum.add(VisitSum::from_words(words));
  return sum;
}

void EpochChecks::each_visited_once(const VisitSum& before, const VisitSum& after, const Epoch& epoch) const {
  VisitSum left_out;
  const Permutation order(epoch.size, epoch.seed, epoch.epoch);
  for (std::uint64_t position = 0; position < epoch.first; ++position) left_out.add(order(position));
  for (std::uint64_t position = epoch.last; position < epoch.size; ++position) left_out.add(order(position));
  VisitSum expected = sum(before);
  expected.add(VisitSum::expected(epoch.size));
  VisitSum visited = sum(after);
  visited.add(left_out);
  world_.agree([&] {
    if (visited != expected) {
      throw Error(Category::internal, "the samples of an epoch were not each visited exactly once");
    }
  });
}

void EpochChecks::same_parameters(std::array<std::uint64_t, 2> hash) const {
  const auto all = gather(hash);
  const auto other = std::ranges::find_if(all, [&](const auto& words) { return words != all[0]; });
  if (other == all.end()) return;
  world_.agree([&] {
    throw Error(Category::internal,
                fmt::format("the parameters of rank {} differ from rank 0's", other - all.begin()));
  });
}

}  // namespace lockstep
