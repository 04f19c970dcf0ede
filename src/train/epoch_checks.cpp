#include "train/epoch_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {
namespace {

using Words = std::array<std::uint64_t, 2>;

VisitSum sum_over_ranks(const Session& session, const VisitSum& own) {
  VisitSum sum;
  for (const Words& words : all_gather(session.between_hosts(), own.words())) {
    sum.add(VisitSum::from_words(words));
  }
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
  const std::vector<Words> all = all_gather(session.between_hosts(), hash);
  const auto other = std::ranges::find_if(all, [&](const Words& words) { return words != all[0]; });
  if (other == all.end()) return;
  session.world().agree([&] {
    throw Error(Category::internal,
                fmt::format("the parameters of rank {} differ from those of rank 0", other - all.begin()));
  });
}

}  // namespace lockstep
