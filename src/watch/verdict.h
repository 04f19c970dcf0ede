#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "device/device.h"
#include "watch/activity.h"

namespace lockstep {

/// Known state of a rank. Times are in seconds, without time in which the whole machine was suspended. Hosts
/// send states to each other as bytes.
struct RankState {
  static constexpr std::size_t recent_calls = 16;

  bool known = false;             ///< false: nothing is known about this rank, so it is not judged
  bool ended = false;             ///< its process has ended
  bool ends_by_itself = false;    ///< exiting deliberately; any error is already printed
  bool stopped = false;           ///< all its threads are stopped: SIGSTOP, a debugger, a frozen container
  char process_state = '?';       ///< as in /proc/PID/stat
  std::int32_t wait_status = -1;  ///< of an ended process, as waitpid returns it; -1: not known
  std::int64_t process = 0;       ///< PID; 0: not started yet
  std::int32_t number = -1;       ///< rank number before ranks are connected; -1: its place in the table
  Activity now = {};
  Phase phase = Phase::load;  ///< phase of its device's last call, within a step
  double still = 0.0;         ///< time without progress, not counting waits of its threads for a core
  double waited = 0.0;        ///< time for which it has waited in now.call
  double silent = 0.0;        ///< age of this information
  double usual_step = 0.0;    ///< duration of its steps, or of steps submitted together; 0: not known
  double cores = 0.0;         ///< number of cores that its threads use, or wait for, without progress
  std::uint32_t call_count = 0;
  std::array<CollectiveCall, recent_calls> calls = {};  ///< its last calls, oldest first

  std::span<const CollectiveCall> recent() const { return std::span(calls).first(call_count); }
};

/// Ranks of all hosts; the ranks of a host are contiguous.
struct RankTable {
  std::vector<RankState> ranks;
  std::vector<std::string> hosts;    ///< names of the hosts
  std::vector<int> boundaries = {};  ///< first rank of each host, then the number of ranks

  std::size_t host_of(std::size_t rank) const;
  /// First rank of a host.
  std::size_t first(std::size_t host) const { return static_cast<std::size_t>(boundaries[host]); }
  /// Ranks of a host.
  std::span<RankState> ranks_of(std::size_t host) {
    return std::span(ranks).subspan(first(host), first(host + 1) - first(host));
  }
  /// Number of the rank at place `rank` of the table. The two differ only before ranks are connected, when
  /// the table has the ranks of one host only.
  std::int64_t number_of(std::size_t rank) const;
};

/// Seconds after which a rank that keeps others waiting counts as hung.
struct HangLimits {
  bool enabled = true;     ///< whether to detect hangs; ended processes are always detected
  double usual = 10.0;     ///< minimum limit; the limit is 10 usual steps if these take longer
  double patient = 300.0;  ///< for ranks that start, read or write files, compile, or make their first step
};

/// Limits for the option --hang-limit with the value `seconds`.
HangLimits hang_limits(double seconds, bool enabled = true);

/// A failure of ranks.
struct Verdict {
  std::vector<std::size_t> ranks_at_fault;  ///< their places in the table
  std::string kind;                         ///< the sentence without times, steps and processes
  std::string sentence;                     ///< human-readable description
};
LOCKSTEP_MEMBERS(Verdict, ranks_at_fault, kind, sentence)

/// The failure that the table shows; nothing if all is well, or if the ranks that others wait for may still
/// arrive. Checks in this order: ended processes; ranks that entered different collectives; then, if a rank
/// has waited longer than the limit: silent hosts, stopped processes, ranks that do not enter the collective,
/// and collectives that do not end. Pure function.
std::optional<Verdict> judge(const RankTable& table, const HangLimits& hang);

/// Stage and step of a rank, for messages: "step 920, backward", "evaluation after step 900", "start-up".
std::string describe_place(const RankState& state);
const char* name_of(Phase phase);

}  // namespace lockstep
