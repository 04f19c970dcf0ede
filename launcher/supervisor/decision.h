#pragma once

#include <span>
#include <string>
#include <vector>

#include "supervisor/arguments.h"
#include "supervisor/attempt.h"

namespace lockstep::launcher {

/// Decision after an attempt.
struct Decision {
  enum class Action { finish, restart, restart_with_fewer_ranks, give_up };
  Action action = Action::finish;
  std::string reason;  ///< of a restart with fewer ranks, and of giving up
};

/// Decides from all attempts so far, the newest last. `several_hosts`: a host is the place that fails,
/// otherwise a rank is. `fewer_ranks`: number of ranks without that place; 0: there is no such number.
Decision decide(std::span<const Attempt> attempts, const RestartOptions& options, bool several_hosts,
                int fewer_ranks);

/// Ranks and hosts of a run without one place.
struct FewerRanks {
  int ranks = 0;                           ///< 0: not possible
  std::vector<MpirunOptions::Host> hosts;  ///< empty: as before
};

/// Leaves out the host of `failure` where there are several hosts, otherwise one rank.
FewerRanks without(const LauncherReport::Failure& failure, const MpirunOptions& options);

}  // namespace lockstep::launcher
