#include "watch/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/process/process.h"
#include "core/text/printable.h"

namespace lockstep {
namespace {

using Ranks = std::vector<std::size_t>;

/// Finds the failure that a table shows.
class Judge {
 public:
  Judge(const RankTable& ranks, const HangLimits& hang) : table_(ranks), limits_(hang) {
    for (const RankState& one : ranks.ranks) slowest_ = std::max(slowest_, one.usual_step);
    for (std::size_t rank = 0; rank < size(); ++rank) {
      const RankState& one = state(rank);
      if (!is_waiting(one) || one.stopped || one.waited < hang.usual) continue;
      if (!witness_ || one.waited > state(*witness_).waited) witness_ = rank;
    }
  }

  std::optional<Verdict> verdict() const {
    if (auto found = ended()) return found;
    if (!limits_.enabled) return std::nullopt;
    if (auto found = different_calls()) return found;
    if (!witness_) return std::nullopt;
    if (auto found = silent_hosts()) return found;
    if (auto found = stopped()) return found;
    if (auto found = absent()) return found;
    return endless_call();
  }

 private:
  const RankState& state(std::size_t rank) const { return table_.ranks[rank]; }
  std::size_t size() const { return table_.ranks.size(); }
  static bool is_waiting(const RankState& state) { return state.known && !state.ended && state.now.waits; }

  Ranks find(const std::function<bool(const RankState&)>& wanted) const {
    Ranks found;
    for (std::size_t rank = 0; rank < size(); ++rank) {
      if (state(rank).known && wanted(state(rank))) found.push_back(rank);
    }
    return found;
  }

  double limit_of(const RankState& state) const {
    if (state.stopped) return limits_.usual;
    if (is_patient(state.now.stage) || slowest_ == 0.0) return limits_.patient;
    return std::max(limits_.usual, 10.0 * slowest_);
  }

  std::string name(std::size_t rank) const {
    return fmt::format("rank {} on host {}", table_.number_of(rank), table_.hosts[table_.host_of(rank)]);
  }
  /// Names ranks by their numbers: "rank 1", "ranks 0, 1, 3", "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 24 more".
  std::string name_ranks(const Ranks& ranks) const {
    constexpr std::size_t most = 8;
    std::vector<std::string> numbers;
    for (const std::size_t rank : ranks) numbers.push_back(std::to_string(table_.number_of(rank)));
    return (ranks.size() == 1 ? "rank " : "ranks ") + first_names(numbers, most);
  }
  /// Names a single rank with its host, several ranks by their numbers.
  std::string name_of_all(const Ranks& ranks) const {
    return ranks.size() == 1 ? name(ranks[0]) : name_ranks(ranks);
  }

  /// The witness and the ranks that wait in the same collective.
  Ranks waiting_with_witness() const {
    const CollectiveCall& call = state(*witness_).now.call;
    Ranks ranks;
    for (std::size_t rank = 0; rank < size(); ++rank) {
      if (is_waiting(state(rank)) && !state(rank).stopped && same_collective(rank, *witness_) &&
          state(rank).now.call.kind == call.kind) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }
  /// Whether the last collectives of two ranks should be the same.
  bool same_collective(std::size_t a, std::size_t b) const {
    return should_be_same(a, state(a).now.call, b, state(b).now.call);
  }
  bool should_be_same(std::size_t a, const CollectiveCall& of_a, std::size_t b,
                      const CollectiveCall& of_b) const {
    if (of_a.group != of_b.group || of_a.number != of_b.number) return false;
    return of_a.group != Group::host || table_.host_of(a) == table_.host_of(b);
  }

  /// Names the waiting ranks at the end of a sentence: "; ranks 0, 1, 3 wait in it for 12 s".
  std::string waiters(const std::string& in) const {
    const Ranks ranks = waiting_with_witness();
    return fmt::format("; {} {} {} for {:.0f} s", name_ranks(ranks), ranks.size() == 1 ? "waits" : "wait", in,
                       state(*witness_).waited);
  }

  std::optional<Verdict> ended() const {
    const Ranks ranks = find([](const RankState& state) { return state.ended && !state.ends_by_itself; });
    if (ranks.empty()) return std::nullopt;
    const RankState& first = state(ranks[0]);
    const std::string end =
        describe_end(first.wait_status < 0 ? std::nullopt : std::optional(first.wait_status));
    std::string sentence =
        fmt::format("{} (process {}) {} ({})", name(ranks[0]), first.process, end, describe_place(first));
    if (ranks.size() > 1) {
      sentence += fmt::format("; so {} {}", ranks.size() == 2 ? "has" : "have",
                              name_ranks({ranks.begin() + 1, ranks.end()}));
    }
    return Verdict{ranks, name(ranks[0]) + " " + end.substr(0, end.find(" (")), sentence};
  }

  /// Ranks that have entered the collective with the group and number of `call`, a call of `rank`: by an
  /// equal call if `equal`, else by a different one.
  Ranks entered(std::size_t rank, const CollectiveCall& call, bool equal) const {
    Ranks ranks;
    for (std::size_t other = 0; other < size(); ++other) {
      for (const CollectiveCall& theirs : state(other).recent()) {
        if (should_be_same(rank, call, other, theirs) && (theirs == call) == equal) ranks.push_back(other);
      }
    }
    return ranks;
  }

  std::optional<Verdict> different_calls() const {
    std::optional<std::pair<Ranks, CollectiveCall>> first;  // the minority, and its call
    for (std::size_t rank = 0; rank < size(); ++rank) {
      for (const CollectiveCall& call : state(rank).recent()) {
        if (call.group == Group::alone || (first && first->second.number <= call.number)) continue;
        const Ranks others = entered(rank, call, false);
        if (others.empty()) continue;
        const Ranks same = entered(rank, call, true);
        // The minority is the smaller group; of equal groups, the one without the lowest rank.
        if (same.size() < others.size() || (same.size() == others.size() && others[0] < same[0])) {
          first = {same, call};
        }
      }
    }
    return first ? std::optional(describe_difference(first->first, first->second)) : std::nullopt;
  }
  Verdict describe_difference(const Ranks& minority, const CollectiveCall& call) const {
    const auto text = [](const CollectiveCall& made) {
      return describe(made) + (made.bytes > 0 ? fmt::format(" of {}", counted(made.bytes, "byte")) : "");
    };
    const Ranks others = entered(minority[0], call, false);
    const auto theirs = std::ranges::find_if(state(others[0]).recent(), [&](const CollectiveCall& made) {
      return should_be_same(minority[0], call, others[0], made);
    });
    return {minority,
            fmt::format("{} entered {}, but {} entered {}", name_of_all(minority), name_of(call.kind),
                        name_ranks(others), name_of(theirs->kind)),
            fmt::format("{} entered {} ({}), but {} entered {}", name_of_all(minority), text(call),
                        describe_place(state(minority[0])), name_ranks(others), text(*theirs))};
  }

  /// Finds silent hosts. Their link may be down, and all other information about them is old.
  std::optional<Verdict> silent_hosts() const {
    constexpr double grace = 2.0;  // seconds, so that a host finds its own stopped ranks first
    const Ranks ranks =
        find([&](const RankState& state) { return !state.ended && state.silent >= limits_.usual + grace; });
    if (ranks.empty()) return std::nullopt;
    std::string hosts, names;
    for (std::size_t host = 0; host + 1 < table_.boundaries.size(); ++host) {
      const std::size_t first = table_.first(host);
      if (std::ranges::find(ranks, first) == ranks.end()) continue;
      Ranks of_host(table_.first(host + 1) - first);
      std::iota(of_host.begin(), of_host.end(), first);
      names += (names.empty() ? "host " : ", host ") + table_.hosts[host];
      hosts +=
          fmt::format("{}host {} ({})", hosts.empty() ? "" : ", ", table_.hosts[host], name_ranks(of_host));
    }
    const char* const reason = "its link is down, or it has stopped";
    return Verdict{ranks, fmt::format("nothing was heard from {}: {}", names, reason),
                   fmt::format("nothing was heard from {} for {:.0f} s: {}{}", hosts, state(ranks[0]).silent,
                               reason, waiters("in " + describe(state(*witness_).now.call)))};
  }

  std::optional<Verdict> stopped() const {
    return hung(find([&](const RankState& state) {
      return state.stopped && !state.ended && !state.ends_by_itself && state.still >= limit_of(state);
    }));
  }
  std::optional<Verdict> absent() const {
    return hung(find([&](const RankState& state) {
      return !state.now.waits && !state.ended && !state.ends_by_itself && state.still >= limit_of(state);
    }));
  }
  std::optional<Verdict> hung(const Ranks& ranks) const {
    if (ranks.empty()) return std::nullopt;
    const RankState& first = state(ranks[0]);
    const CollectiveCall& call = state(*witness_).now.call;
    if (first.process == 0) {
      const std::string kind = name_of_all(ranks) + (ranks.size() == 1 ? " has" : " have") + " not started";
      return Verdict{ranks, kind, kind + waiters("in " + describe(call))};
    }
    std::string where, kind_of_place, in_it = "in it";
    if (first.now.waits) {
      where = "in " + describe(first.now.call);
      kind_of_place = std::string("in ") + name_of(first.now.call.kind);
      if (!same_collective(ranks[0], *witness_)) in_it = "in " + describe(call);
    } else if (call.group == Group::alone) {
      where = kind_of_place = "and blocks the others";
      in_it = "for its GPU";
    } else {
      where = "before " + describe(call);
      kind_of_place = std::string("before ") + name_of(call.kind);
    }
    return Verdict{ranks, fmt::format("{} stopped {}", name_of_all(ranks), kind_of_place),
                   fmt::format("{} stopped {} ({}; {}){}", name_of_all(ranks), where, describe_place(first),
                               describe_process(first), waiters(in_it))};
  }
  static std::string describe_process(const RankState& state) {
    const char* does = "sleeps";
    if (state.process_state == 't') {
      does = "is held by a debugger";
    } else if (state.process_state == 'T') {
      does = "is stopped, as by SIGSTOP";
    } else if (state.process_state == 'D') {
      does = "waits for a disk or a file system";
    } else if (state.stopped) {
      does = "is frozen";
    } else if (state.cores > 0.5) {
      does = "computes";
    }
    return fmt::format("process {} {}", state.process, does);
  }

  /// Finds a collective that does not end: all ranks wait.
  std::optional<Verdict> endless_call() const {
    for (const RankState& state : table_.ranks) {
      if (state.ended || state.ends_by_itself) continue;
      if (!state.known || !state.now.waits || state.still < limit_of(state)) return std::nullopt;
    }
    const auto with_call = [&](const CollectiveCall& call) {
      return find([&](const RankState& state) { return state.now.call == call; });
    };
    // The rank whose call is shared by the fewest ranks, and among equals has the lowest number.
    const RankState& first = *std::ranges::min_element(table_.ranks, {}, [&](const RankState& state) {
      return std::pair(with_call(state.now.call).size(), state.now.call.number);
    });
    const std::string call = describe(first.now.call), kind = name_of(first.now.call.kind);
    const Ranks same = with_call(first.now.call);
    if (same.size() < size()) {
      const Ranks others = find([&](const RankState& other) { return other.now.call != first.now.call; });
      const char* const wait = same.size() == 1 ? "waits" : "wait";
      const char* const others_wait = others.size() == 1 ? "waits" : "wait";
      const CollectiveCall& their_call = state(others[0]).now.call;
      return Verdict{same,
                     fmt::format("{} {} in {}, but {} {} in {}", name_of_all(same), wait, kind,
                                 name_ranks(others), others_wait, name_of(their_call.kind)),
                     fmt::format("{} {} in {} ({}) for {:.0f} s, but {} {} in {}", name_of_all(same), wait,
                                 call, describe_place(first), first.waited, name_ranks(others), others_wait,
                                 describe(their_call))};
    }
    const char* const reason = "it does not end, as when a link between hosts is down";
    return Verdict{same, fmt::format("all ranks wait in {}: {}", kind, reason),
                   fmt::format("all ranks wait in {} ({}) for {:.0f} s: {}", call, describe_place(first),
                               first.waited, reason)};
  }

  const RankTable& table_;
  const HangLimits& limits_;
  double slowest_ = 0.0;                ///< seconds of the slowest rank's usual step
  std::optional<std::size_t> witness_;  ///< rank that has waited for the longest time, above the limit
};

}  // namespace

std::size_t RankTable::host_of(std::size_t rank) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(boundaries, static_cast<int>(rank)) -
                                  boundaries.begin()) -
         1;
}

std::int64_t RankTable::number_of(std::size_t rank) const {
  const std::int32_t number = ranks[rank].number;
  return number < 0 ? static_cast<std::int64_t>(rank) : number;
}

HangLimits hang_limits(double seconds, bool enabled) {
  return {.enabled = enabled, .usual = seconds, .patient = 30.0 * seconds};
}

std::optional<Verdict> judge(const RankTable& table, const HangLimits& hang) {
  return Judge(table, hang).verdict();
}

std::string describe_place(const RankState& state) {
  const Activity& now = state.now;
  if (now.stage == Stage::training) return fmt::format("step {}, {}", now.step, name_of(state.phase));
  if (now.step > 0) return fmt::format("{} after step {}", name_of(now.stage), now.step);
  return name_of(now.stage);
}

const char* name_of(Phase phase) {
  constexpr std::array<const char*, phase_count> names{"load", "forward", "backward",
                                                       "fold", "reduce",  "update"};
  return names.at(static_cast<std::size_t>(phase));
}

}  // namespace lockstep
