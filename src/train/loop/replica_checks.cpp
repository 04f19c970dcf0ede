#include "train/loop/replica_checks.h"

#include <string>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/loop/replica_vote.h"

namespace lockstep {

Next ReplicaChecks::act(Boundary boundary) {
  const std::uint64_t every = parts_.run.options.check_replicas_every;
  if (boundary == Boundary::within_epoch && every > 0 && parts_.state.progress.step % every == 0) {
    check_parameters();
  }
  return Next::step;
}

void ReplicaChecks::check_parameters() const {
  if (parts_.session.world().size() == 1) return;
  compare(parts_.state.parameter_hash());
}

void ReplicaChecks::check_all() const { compare(parts_.state.hash()); }

void ReplicaChecks::compare(const std::array<std::uint64_t, 2>& hash) const {
  const Session& session = parts_.session;
  const World& world = session.world();
  const auto memory =
      static_cast<std::uint64_t>(session.shares_arenas() ? world.rank() - world.local_rank() : world.rank());
  const ReplicaVote result = vote(all_gather(session.between_hosts(), ReplicaHash{memory, hash}));
  if (result.differing.empty()) return;
  std::vector<std::string> hosts;
  for (const auto& host : all_gather(session.between_hosts(), FixedText<256>(world.host()))) {
    hosts.push_back(host.text());
  }
  world.agree(
      [&] { throw Error(Category::internal, message_of(result, hosts, parts_.state.progress.step)); });
}

}  // namespace lockstep
