#include "train/epoch_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {
namespace {

using Words = std::array<std::uint64_t, 2>;

/// The words of all ranks, in rank order.
std::vector<Words> gather(const Session& session, const Words& own) {
  std::vector<Words> all(static_cast<std::size_t>(session.world().size()));
  const std::vector<std::size_t> bytes(all.size(), sizeof own);
  session.between_hosts().all_gather_bytes(std::as_bytes(std::span(own)), bytes,
                                           std::as_writable_bytes(std::span(all)));
  return all;
}

VisitSum sum_over_ranks(const Session& session, const VisitSum& own) {
  VisitSum sum;
  for (const Words& words : gather(session, own.words())) sum.add(VisitSum::from_words(words));
  return sum;
}

}  // namespace

void check_visits(const Session& session, const Run& run, std::uint32_t epoch, std::uint64_t first_step,
                  const VisitSum& before, const VisitSum& after) {
  const auto& [steps, batch, samples] = run.epoch;
  const Permutation order(samples, run.options.seed, epoch);
  VisitSum visited = sum_over_ranks(session, after);  // and the samples that the epoch skips
  for (std::uint64_t position = 0; position < first_step * batch; ++position) visited.add(order(position));
  for (std::uint64_t position = steps * batch; position < samples; ++position) visited.add(order(position));
  VisitSum expected = sum_over_ranks(session, before);
  expected.add(VisitSum::expected(samples));
  session.world().agree([&] {
    if (visited != expected) {
      throw Error(Category::internal, "the samples of an epoch were not each visited exactly once");
    }
  });
}

void check_same_parameters(const Session& session, std::array<std::uint64_t, 2> hash) {
  const std::vector<Words> all = gather(session, hash);
  const auto other = std::ranges::find_if(all, [&](const Words& words) { return words != all[0]; });
  if (other == all.end()) return;
  session.world().agree([&] {
    throw Error(Category::internal,
                fmt::format("the parameters of rank {} differ from those of rank 0", other - all.begin()));
  });
}

}  // namespace lockstep
