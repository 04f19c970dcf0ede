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
  std::string reason;  ///< why to restart with fewer ranks, or give up; else empty
};

/// Decides from all attempts so far, the newest last. `several_hosts`: failures are blamed on hosts,
/// otherwise on ranks. `fewer_ranks`: number of ranks without the host or rank that failed; 0: not possible.
Decision decide(std::span<const Attempt> attempts, const RestartOptions& options, bool several_hosts,
                int fewer_ranks);

/// Ranks and hosts of a run that remain without the host or rank that failed.
struct FewerRanks {
  int ranks = 0;                           ///< 0: not possible
  std::vector<MpirunOptions::Host> hosts;  ///< empty: the hosts do not change
};

/// Leaves out the host of `failure` if there are several hosts, otherwise one rank.
FewerRanks without(const LauncherReport::Failure& failure, const MpirunOptions& options);

}  // namespace lockstep::launcher
