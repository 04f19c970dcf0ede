#include "watch/monitor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/background.h"
#include "core/clock.h"
#include "core/json/json.h"
#include "core/process/launcher_report.h"
#include "core/process/signals.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "device/device.h"
#include "watch/report.h"

namespace lockstep {
namespace {

constexpr int tick = 250;                // ms
constexpr double longest_tick = 0.5;     // s; if more has passed, this process or the machine was suspended
constexpr double states_interval = 1.0;  // s
constexpr double time_to_connect = 0.3;  // s
constexpr int peer_status = static_cast<int>(Category::peer);

std::string to_text(const Verdict& verdict) { return json_message(json_of(verdict)); }

/// Returns nothing if the text is not a verdict about ranks below `ranks`.
std::optional<Verdict> parse_verdict(const std::string& text, std::size_t ranks) {
  try {
    const JsonDocument document(text, {.file = "verdict", .is_message = true});
    Verdict verdict;
    document.read(document.root(), verdict);
    const bool known =
        std::ranges::all_of(verdict.ranks_at_fault, [&](std::size_t rank) { return rank < ranks; });
    return known ? std::optional(std::move(verdict)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Monitor::Monitor(JobMemory& memory, MonitoredRanks ranks)
    : memory_(memory),
      ranks_(std::move(ranks)),
      parent_(getppid()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  start_watching();
  if (const auto launcher = own_launcher()) launcher_.emplace(*launcher);
  const AllSignalsBlocked blocked;  // signals are for the program's threads
  thread_ = start_thread([this] { run(); });
}

Monitor::~Monitor() {
  stops_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Monitor::watch(MonitoredRanks ranks) {
  const std::lock_guard lock(mutex_);
  ranks_ = std::move(ranks);
  start_watching();
}

void Monitor::change(const std::function<void(MonitorOptions&)>& work) {
  const std::lock_guard lock(mutex_);
  work(options_);
}

void Monitor::start_watching() {
  locals_.clear();
  for (const int slot : ranks_.slots) locals_.emplace_back(slot < 0 ? nullptr : &memory_.rank(slot));
  lost_for_.assign(ranks_.table.hosts.size(), 0.0);
  links_ = SlowLinks(ranks_.table.hosts.size());
}

void Monitor::run() {
  for (double last = steady_seconds(); !stops_; pause()) {
    const std::lock_guard lock(mutex_);
    const double now = steady_seconds();
    work(std::min(longest_tick, now - last));
    last = now;
  }
  say_goodbye();
}

void Monitor::say_goodbye() {
  const std::lock_guard lock(mutex_);
  send_to_others(has_failed() ? HeartbeatMessage::Type::failed : HeartbeatMessage::Type::goodbye, {});
}

/// Sleeps for a tick, or until a process of this host ends or another host sends something.
void Monitor::pause() {
  std::vector<pollfd> polled{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t local = 0; local < locals_.size(); ++local) {
      const int descriptor = locals_[local].descriptor();
      if (!state_of(local).ended && descriptor >= 0)
        polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    }
    if (ranks_.heartbeat) ranks_.heartbeat->add_descriptors(polled);
  }
  poll(polled.data(), polled.size(), tick);
}

/// Does the work of a tick. `seconds`: time since the last call, at most longest_tick.
void Monitor::work(double seconds) {
  if (const int status = memory_.ended(); status != 0) std::_Exit(status);
  publish();
  const bool deciding = decides();
  const bool suspicious = deciding && is_suspicious();
  for (std::size_t local = 0; local < locals_.size(); ++local) {
    locals_[local].look(state_of(local), seconds, suspicious);
  }
  if (ranks_.heartbeat) exchange(seconds);
  if (deciding) warn_of_awaited_ranks(seconds);
  check_parent(seconds);
  check_failed(seconds);
  // has_failed() must be read after look() has found ended ranks: the launcher kills ranks after a failure.
  if (!deciding || has_failed()) return;
  const auto verdict = judge(ranks_.table, limits_here());
  if (!verdict || is_end_of_failure(*verdict)) return;
  if (!defers_to_first_host(*verdict, seconds)) report(*verdict);
}

void Monitor::publish() {
  RankMemory& own = own_memory();
  own.beat.fetch_add(1, std::memory_order_relaxed);
  if (options_.device == nullptr) return;
  const DeviceActivity activity = options_.device->activity();
  own.calls.store(activity.calls, std::memory_order_relaxed);
  own.phase.store(static_cast<std::uint32_t>(activity.phase), std::memory_order_relaxed);
}

/// Whether a rank has waited so long that the other ranks should be examined more closely.
bool Monitor::is_suspicious() const {
  return std::ranges::any_of(ranks_.table.ranks, [&](const RankState& state) {
    return state.known && state.now.waits && state.waited > 0.25 * options_.limits.usual;
  });
}

/// Whether this is the lowest rank of its host whose monitor works.
bool Monitor::decides() const {
  for (std::size_t local = 0; !is_own(local); ++local) {
    const LocalRank& lower = locals_[local];
    const RankState& state = ranks_.table.ranks[ranks_.first() + local];
    if (state.known && state.process != 0 && !state.ended && !state.ends_by_itself && lower.is_alive()) {
      return false;
    }
  }
  return true;
}

/// Limits for this host. The first host, which knows all ranks, decides on hangs; the other hosts do so only
/// while they hear nothing from its first rank.
HangLimits Monitor::limits_here() const {
  HangLimits limits = options_.limits;
  if (ranks_.host == 0 || !ranks_.heartbeat) return limits;
  constexpr double heard = 3.0;
  const bool heard_of_first = ranks_.heartbeat->is_connected(0) && ranks_.table.ranks[0].silent < heard;
  if (heard_of_first) limits.enabled = false;
  return limits;
}

void Monitor::exchange(double seconds) {
  for (std::size_t rank = 0; rank < ranks_.table.ranks.size(); ++rank) {
    if (ranks_.table.host_of(rank) != ranks_.host) ranks_.table.ranks[rank].silent += seconds;
  }
  for (const HeartbeatMessage& message : ranks_.heartbeat->exchange()) receive(message);
  find_lost_hosts(seconds);
  warn_of_missing_hosts(seconds);
  since_states_ += seconds;
  if (since_states_ < states_interval && !has_failed()) return;
  since_states_ = 0.0;
  for (std::size_t host = 0; host < ranks_.table.hosts.size(); ++host) {
    if (host != ranks_.host) send_states(host);
  }
}

/// Sends the states of this host's ranks to the first host; the first host itself sends its time, as a sign
/// of life. After an error of a rank, reports the failure instead: the connection may end before the launcher
/// ends the other hosts.
void Monitor::send_states(std::size_t host) {
  if (has_failed()) return ranks_.heartbeat->send(host, HeartbeatMessage::Type::failed, {});
  const double now = steady_seconds();
  ranks_.heartbeat->send(host, HeartbeatMessage::Type::states,
                         ranks_.host == 0 ? std::as_bytes(std::span(&now, 1))
                                          : std::as_bytes(ranks_.table.ranks_of(ranks_.host)));
}

/// Sends a message to all other hosts, if this rank has connections with them.
void Monitor::send_to_others(HeartbeatMessage::Type type, std::span<const std::byte> bytes) {
  if (!ranks_.heartbeat) return;
  for (std::size_t host = 0; host < ranks_.table.hosts.size(); ++host) {
    if (host != ranks_.host) ranks_.heartbeat->send(host, type, bytes);
  }
}

/// Handles the return of a time that this rank sent from the first host.
void Monitor::take_echo(const HeartbeatMessage& echo) {
  double sent = 0.0;
  if (ranks_.host != 0 || echo.bytes.size() != sizeof sent) return;
  std::memcpy(&sent, echo.bytes.data(), sizeof sent);
  const double now = steady_seconds();
  if (const auto finding = links_.add(echo.host, now, now - sent)) {
    print_warning(message_of(*finding, ranks_.table.hosts[0], ranks_.table.hosts[echo.host]));
  }
}

void Monitor::receive(const HeartbeatMessage& message) {
  const std::span<RankState> states = ranks_.table.ranks_of(message.host);
  switch (message.type) {
    case HeartbeatMessage::Type::opened:  // the other host cannot count this one as lost before it has states
      send_states(message.host);
      break;
    case HeartbeatMessage::Type::states:
      if (message.bytes.size() == states.size_bytes()) {
        std::memcpy(states.data(), message.bytes.data(), message.bytes.size());
      }
      if (message.host == 0) {
        ranks_.heartbeat->send(0, HeartbeatMessage::Type::echo, message.bytes);
      }
      for (RankState& state : states) {
        state.silent = 0.0;
        state.known = true;
      }
      break;
    case HeartbeatMessage::Type::echo:
      take_echo(message);
      break;
    case HeartbeatMessage::Type::goodbye:
      for (RankState& state : states) state.ends_by_itself = true;
      break;
    case HeartbeatMessage::Type::failed:  // as if this rank had failed, so that all ranks of its host end
      own_memory().ending = RankMemory::Ending::failed;
      break;
    case HeartbeatMessage::Type::end: {  // another host has printed the reason
      std::vector<std::size_t> ranks_at_fault(message.bytes.size() / sizeof(std::size_t));
      std::memcpy(ranks_at_fault.data(), message.bytes.data(), ranks_at_fault.size() * sizeof(std::size_t));
      end_job(ranks_at_fault);
    }
    case HeartbeatMessage::Type::verdict:
      if (const auto verdict = parse_verdict(message.text(), ranks_.table.ranks.size())) report(*verdict);
      break;
    default:
      break;
  }
}

/// Marks the first rank of a host as ended some time after its connection has closed: the process has ended,
/// unless it opens another connection.
void Monitor::find_lost_hosts(double seconds) {
  for (std::size_t host = 0; host < ranks_.table.hosts.size(); ++host) {
    if (host == ranks_.host || !ranks_.heartbeat->is_lost(host)) {
      lost_for_[host] = 0.0;
      continue;
    }
    lost_for_[host] += seconds;
    if (lost_for_[host] >= time_to_connect) ranks_.table.ranks_of(host)[0].ended = true;
  }
}

/// Warns once about ranks of this host that have not started, and once about ranks of other hosts, because
/// MPI waits for them silently. Until all its own ranks have started, a host cannot know whether the others
/// have.
void Monitor::warn_of_awaited_ranks(double seconds) {
  std::vector<std::string> missing;  // ranks of this host
  for (std::size_t local = 0; local < locals_.size(); ++local) {
    const RankState& state = state_of(local);
    if (state.known && state.process == 0) {
      missing.push_back(std::to_string(ranks_.table.number_of(ranks_.first() + local)));
    } else if (!state.now.waits) {
      return;
    }
  }
  if (ranks_.awaited == 0 && missing.empty()) return;
  double& waited = missing.empty() ? awaiting_for_ : starting_for_;
  const bool had_time = waited >= options_.time_to_start;
  waited += seconds;
  if (had_time || waited < options_.time_to_start) return;
  if (!missing.empty()) {
    return print_warning(
        fmt::format("host {} has waited {:.0f} s for its {} {} to start; the run ends if this takes {:.0f} "
                    "s: see whether it is busy, and what delays the program there (a wrapper, a slow file "
                    "system)",
                    ranks_.table.hosts[0], options_.time_to_start, missing.size() == 1 ? "rank" : "ranks",
                    first_names(missing), options_.limits.patient));
  }
  print_warning(fmt::format(
      "host {} has waited {:.0f} s for {} of other hosts to start; the run ends if this takes {:.0f} s: "
      "see whether the hosts answer, and whether a firewall blocks TCP between them",
      ranks_.table.hosts[0], options_.time_to_start, counted(ranks_.awaited, "rank"),
      options_.limits.patient));
}

/// Warns once, on the first host, about hosts that have not connected; they try again every 2 s.
void Monitor::warn_of_missing_hosts(double seconds) {
  const bool had_time = connecting_for_ >= options_.time_to_start;
  connecting_for_ += seconds;
  if (had_time || ranks_.host != 0 || connecting_for_ < options_.time_to_start) return;
  print_warning(warning_of_missing_hosts(*ranks_.heartbeat, ranks_.table.hosts));
}

/// Ends the job if the launcher has ended: otherwise the ranks of the job would wait forever.
void Monitor::check_parent(double seconds) {
  orphaned_for_ = getppid() == parent_ ? 0.0 : orphaned_for_ + seconds;
  if (orphaned_for_ < 1.0) return;
  report({.ranks_at_fault = {},
          .kind = {},
          .sentence = fmt::format("the process that started this rank ({}) has ended", parent_)});
}

/// Whether a rank of this host ends for this reason.
bool Monitor::any_ends(RankMemory::Ending ending) const {
  return std::ranges::find(locals_, ending, &LocalRank::ending) != locals_.end();
}

/// Whether the verdict only reflects the end of ranks after an error that all ranks know and one of them
/// prints: the launcher kills the others when the first one ends.
bool Monitor::is_end_of_failure(const Verdict& verdict) const {
  return ranks_.table.ranks[verdict.ranks_at_fault.front()].ended &&
         any_ends(RankMemory::Ending::failed_together);
}

/// Ends this rank some time after another one has failed, because not all launchers do.
void Monitor::check_failed(double seconds) {
  failed_for_ = has_failed() ? failed_for_ + seconds : 0.0;
  if (failed_for_ >= 3.0) std::_Exit(peer_status);
}

/// Whether to leave the report to rank 0, which receives the verdict or notices the end of the connection:
/// the launcher may lose lines of ranks on other hosts while it kills them because a rank has ended.
bool Monitor::defers_to_first_host(const Verdict& verdict, double seconds) {
  constexpr double patience = 3.5;
  if (ranks_.host == 0 || !ranks_.table.ranks[verdict.ranks_at_fault.front()].ended) return false;
  if (ranks_.heartbeat && deferred_for_ == 0.0) {
    const std::string text = to_text(verdict);
    ranks_.heartbeat->send(0, HeartbeatMessage::Type::verdict, std::as_bytes(std::span(text)));
  }
  deferred_for_ += seconds;
  return deferred_for_ < patience;
}

/// Tries to become the one rank of this host that reports; returns false if another rank reports.
bool Monitor::becomes_reporter() {
  std::int64_t reporter = 0;
  if (memory_.reporter().compare_exchange_strong(reporter, getpid())) return true;
  const auto status = status_of(reporter);
  const bool gone = !status || status->has_ended() || status->is_stopped();
  return gone && memory_.reporter().compare_exchange_strong(reporter, getpid());
}

void Monitor::report(const Verdict& verdict) {
  if (!becomes_reporter()) return;
  print_message("lockstep: error: " + verdict.sentence +
                (options_.advice.empty() ? "" : "; " + options_.advice));
  report_failure(verdict);
  write_report({.verdict = verdict,
                .table = ranks_.table,
                .limits = options_.limits,
                .memory = memory_,
                .slots = ranks_.slots,
                .first = ranks_.first()},
               options_.report_folder);
  end_job(verdict.ranks_at_fault);
}

/// Reports the first rank at fault to lockstep-run. If no rank is at fault, the launcher itself has ended.
void Monitor::report_failure(const Verdict& verdict) const {
  if (verdict.ranks_at_fault.empty()) return;
  const std::size_t rank = verdict.ranks_at_fault.front();
  const RankState& state = ranks_.table.ranks[rank];
  std::uint64_t step = 0;
  for (const RankState& any : ranks_.table.ranks) step = std::max(step, steps_made(any.now));
  report_to_launcher(
      {.failure = LauncherReport::Failure{.rank = static_cast<int>(ranks_.table.number_of(rank)),
                                          .host = ranks_.table.hosts[ranks_.table.host_of(rank)],
                                          .cause = verdict.sentence,
                                          .kind = verdict.kind,
                                          .known = !state.ended || state.wait_status >= 0},
       .step = step});
}

/// Ends all ranks of this host, and asks the other hosts to do the same.
void Monitor::end_job(const std::vector<std::size_t>& ranks_at_fault) {
  send_to_others(HeartbeatMessage::Type::end, std::as_bytes(std::span(ranks_at_fault)));
  memory_.ended() = peer_status;
  // mpirun would not end while a host does not answer.
  if (launcher_) launcher_->kill_later(4);
  for (const std::size_t rank : ranks_at_fault) {  // a stopped process does not end by itself
    const std::size_t local = rank - ranks_.first();
    if (rank >= ranks_.first() && local < locals_.size() && !is_own(local)) locals_[local].kill();
  }
  std::vector<LocalRank*> others;
  for (std::size_t local = 0; local < locals_.size(); ++local) {
    if (!is_own(local)) others.push_back(&locals_[local]);
  }
  const double deadline = steady_seconds() + 1.0;
  while (std::ranges::any_of(others, &LocalRank::runs) && steady_seconds() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (const LocalRank* const other : others) other->kill();
  memory_.remove();
  std::_Exit(peer_status);
}

}  // namespace lockstep
