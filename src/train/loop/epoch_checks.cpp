#include "train/loop/epoch_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/world/watch_of.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/loop/replica_vote.h"

namespace lockstep {

VisitSum sum_over_ranks(const Session& session, const VisitSum& own) {
  VisitSum sum;
  for (const auto& words : all_gather(session.between_hosts(), own.words())) {
    sum.add(VisitSum::from_words(words));
  }
  return sum;
}

void check_visits(const Session& session, const Run& run, std::uint32_t epoch, std::uint64_t first_step,
                  const VisitSum& before, const VisitSum& after) {
  const auto& [steps, batch, samples] = run.epoch;
  const Permutation order(samples, run.options.seed, epoch);
  VisitSum visited = sum_over_ranks(session, after);  // and the samples that the epoch skips
  const std::uint64_t first = std::min(first_step * batch, samples);
  for (std::uint64_t position = 0; position < first; ++position) visited.add(order(position));
  for (std::uint64_t position = steps * batch; position < samples; ++position) visited.add(order(position));
  VisitSum expected = sum_over_ranks(session, before);
  expected.add(VisitSum::expected(samples));
  session.world().agree([&] {
    if (visited != expected) {
      throw Error(Category::internal, "the samples of an epoch were not each visited exactly once");
    }
  });
}

VisitSum contents_of(const Session& session, const Run& run, std::uint32_t epoch, SampleRange left_out) {
  if (left_out.samples == 0 || run.train.encoding() != Encoding::image_file) return {};
  const World& world = session.world();
  const InStage in(watch_of(world), Stage::report);
  const Permutation order(run.epoch.samples, run.options.seed, epoch);
  VisitSum own;
  world.agree([&] {
    std::vector<std::uint8_t> buffer;
    const auto ranks = static_cast<std::uint64_t>(world.size());
    for (auto i = static_cast<std::uint64_t>(world.rank()); i < left_out.samples; i += ranks) {
      const std::uint64_t id = order(left_out.first + i);
      try {
        own.add(id, run.train.sample(id, buffer));
      } catch (const Error& error) {
        if (error.category() != Category::data) throw;
      }
    }
  });
  return sum_over_ranks(session, own);
}

void check_contents(const Session& session, int number, const VisitSum& read,
                    std::array<std::uint64_t, 2>& known) {
  if (known == std::array<std::uint64_t, 2>{}) known = read.words();
  session.world().agree([&] {
    if (read.words() == known) return;
    throw Error(Category::data,
                fmt::format("epoch {} has read other bytes than earlier epochs: training files were changed "
                            "during the run, or differ between hosts",
                            number));
  });
}

void check_same_parameters(const Session& session, std::uint64_t step, std::array<std::uint64_t, 2> hash) {
  const World& world = session.world();
  const auto memory =
      static_cast<std::uint64_t>(session.shares_arenas() ? world.rank() - world.local_rank() : world.rank());
  const ReplicaVote result = vote(all_gather(session.between_hosts(), ReplicaHash{memory, hash}));
  if (result.differing.empty()) return;
  std::vector<std::string> hosts;
  for (const auto& host : all_gather(session.between_hosts(), FixedText<256>(world.host()))) {
    hosts.push_back(host.text());
  }
  world.agree([&] { throw Error(Category::internal, message_of(result, hosts, step)); });
}

}  // namespace lockstep
