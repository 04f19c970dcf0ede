#include "supervisor/decision.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/printable.h"
#include "hosts/host_names.h"
#include "lockstep/error.h"

namespace lockstep::launcher {
namespace {

/// Number of consecutive failures after which a rank or host is left out; two are enough if there was no
/// progress between them.
constexpr int failures_of_one_place = 3;

bool same_place(const Attempt& left, const Attempt& right, bool several_hosts) {
  if (!left.failure || !right.failure || left.ranks != right.ranks) return false;
  if (!same_host(left.failure->host, right.failure->host)) return false;
  return several_hosts || left.failure->rank == right.failure->rank;
}

/// Number of consecutive attempts, up to the last, that failed on the same rank or host.
int failures_in_a_row(std::span<const Attempt> attempts, bool several_hosts) {
  int count = 0;
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt, ++count) {
    if (!same_place(*attempt, attempts.back(), several_hosts)) break;
  }
  return count;
}

std::string describe(const LauncherReport::Failure& failure, bool several_hosts) {
  return several_hosts || failure.rank < 0 ? "host " + failure.host
                                           : "rank " + std::to_string(failure.rank) + " on " + failure.host;
}

}  // namespace

Decision decide(std::span<const Attempt> attempts, const RestartOptions& options, bool several_hosts,
                int fewer_ranks) {
  using Action = Decision::Action;
  const Attempt& last = attempts.back();
  const auto restarts = static_cast<int>(attempts.size()) - 1;
  if (!last.failed() || options.maximum == 0) return {};
  if (last.status == static_cast<int>(Category::usage)) {
    return {Action::give_up, "wrong usage (status 2), which a restart does not change"};
  }
  if (last.status == static_cast<int>(Category::data)) {
    return {Action::give_up, "bad input data (status 3), which a restart does not change"};
  }
  if (restarts >= options.maximum) {
    return {Action::give_up, fmt::format("it failed {} times; --max-restarts allows {}", attempts.size(),
                                         counted(options.maximum, "restart"))};
  }
  // A checkpoint older than the previous one is progress, too: --on-nan rollback removes newer checkpoints
  // and then trains differently.
  const bool progress =
      restarts == 0 || (last.checkpoint > 0 && last.checkpoint != attempts[attempts.size() - 2].checkpoint);
  const int in_a_row = failures_in_a_row(attempts, several_hosts);
  const bool place_fails = in_a_row >= failures_of_one_place || (in_a_row >= 2 && !progress);
  if (place_fails && fewer_ranks >= options.min_ranks.value_or(1) && fewer_ranks > 0) {
    return {Action::restart_with_fewer_ranks,
            fmt::format("{} failed {} times in a row", describe(*last.failure, several_hosts), in_a_row)};
  }
  if (!progress) {
    if (last.checkpoint == 0) return {Action::give_up, "two attempts failed before writing a checkpoint"};
    return {Action::give_up,
            fmt::format("two attempts failed without writing a checkpoint after step {}", last.checkpoint)};
  }
  return {Action::restart, {}};
}

FewerRanks without(const LauncherReport::Failure& failure, const MpirunOptions& options) {
  const int ranks = options.ranks();
  if (ranks == 0 && options.places_ranks()) return {};
  std::vector<MpirunOptions::Host> hosts = options.hosts();
  const std::size_t all = hosts.size();
  std::erase_if(hosts, [&](const MpirunOptions::Host& host) { return same_host(host.name, failure.host); });
  if (hosts.empty() || hosts.size() == all) return {.ranks = std::max(0, ranks - 1), .hosts = {}};
  const bool is_open = std::ranges::find(hosts, 0, &MpirunOptions::Host::slots) != hosts.end();
  const int slots =
      is_open ? static_cast<int>(static_cast<std::size_t>(ranks) * hosts.size() / all) : count_slots(hosts);
  return {.ranks = ranks == 0 ? slots : std::min(slots, ranks), .hosts = std::move(hosts)};
}

}  // namespace lockstep::launcher
