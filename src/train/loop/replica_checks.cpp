#include "train/loop/replica_checks.h"

#include "train/loop/epoch_checks.h"

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
  check_same_parameters(parts_.session, parts_.state.progress.step, parts_.state.parameter_hash());
}

void ReplicaChecks::check_all() const {
  check_same_parameters(parts_.session, parts_.state.progress.step, parts_.state.hash());
}

}  // namespace lockstep
