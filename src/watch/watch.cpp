#include "watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "core/text/message.h"
#include "watch/job_memory.h"
#include "watch/monitor.h"

namespace lockstep {
namespace {

/// First message of a rank to all others.
struct JobProposal {
  bool has_memory = false;       ///< whether the rank uses the memory of a job that the launcher names
  std::array<char, 128> name{};  ///< name of a job for this host
};

/// Second message of a rank to all others.
struct Introduction {
  std::array<char, 64> host{};
  ProcessId process;
  std::uint64_t device = 0, inode = 0;  ///< identity of the rank's memory file
  std::int32_t slot = 0;                ///< place of the rank in that memory
  HeartbeatAddress heartbeat = {};      ///< set by rank 0 if there are several hosts
};

/// Gathers the messages of all ranks. Collective.
template <class Message>
std::vector<Message> gather(const ConnectedRanks& ranks, const Message& own) {
  const std::vector<std::byte> bytes = ranks.gather(std::as_bytes(std::span(&own, 1)));
  std::vector<Message> all(bytes.size() / sizeof own);
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

/// Memory that announce_end writes to; null: no other rank watches.
std::atomic<JobMemory*> watched_memory{nullptr};
std::atomic<RankMemory*> watched_slot{nullptr};
std::atomic<bool> announced_end{false};

bool same_file(const Introduction& a, const Introduction& b) {
  return a.inode != 0 && a.device == b.device && a.inode == b.inode;
}

void introduce(RankMemory& memory, int rank) {
  const ProcessId own = own_process();
  memory.rank = rank;
  memory.process_start = own.start;
  memory.process_space = own.number_space;
  memory.process = own.number;
}

/// Proposes the name of a job for the ranks of this host: the launcher's name, or a random one.
JobProposal propose_job(bool has_memory) {
  JobProposal proposal{.has_memory = has_memory};
  std::string job = read_job(::getenv);
  std::random_device random;
  if (job.empty()) job = std::to_string(std::uint64_t{random()} << 32 | random());
  job.copy(proposal.name.data(), proposal.name.size() - 1);
  return proposal;
}

}  // namespace

Watch::Watch() : memory_(std::make_unique<JobMemory>()), own_(&memory_->rank(0)) {}

Watch::Watch(const StartedRanks& ranks) : Watch() {
  now_.time = coarse_time();
  const std::string job = read_job(::getenv);
  if (ranks.count <= 1 || ranks.local_rank < 0 || ranks.local_rank >= ranks.local_count || job.empty())
    return;
  use(std::make_unique<JobMemory>(job, ranks.host, ranks.local_count), ranks.local_rank);
  introduce(*own_, ranks.rank);
  enter(Collective::start, Group::world);
  RankTable table{.ranks = {}, .hosts = {ranks.host}, .boundaries = {0, ranks.local_count}};
  table.ranks.resize(static_cast<std::size_t>(ranks.local_count));
  // Assumed numbers: a rank that has started publishes its own.
  for (int local = 0; local < ranks.local_count; ++local) {
    table.ranks[static_cast<std::size_t>(local)].number = ranks.rank - ranks.local_rank + local;
  }
  std::vector<int> slots(table.ranks.size());
  std::iota(slots.begin(), slots.end(), 0);
  monitor_ = std::make_unique<Monitor>(*memory_, MonitoredRanks{.table = std::move(table),
                                                                .slots = std::move(slots),
                                                                .host = 0,
                                                                .local_rank = ranks.local_rank,
                                                                .heartbeat = nullptr,
                                                                .awaited = ranks.count - ranks.local_count});
}

Watch::~Watch() {
  auto none = RankMemory::Ending::no;
  own_->ending.compare_exchange_strong(none, RankMemory::Ending::done);
  monitor_.reset();
  if (watched_slot == own_) watched_memory = nullptr;
}

void Watch::use(std::unique_ptr<JobMemory> memory, int slot) {
  watched_memory = nullptr;
  memory_ = std::move(memory);
  own_ = &memory_->rank(slot);
  watched_slot = own_;
  watched_memory = memory_.get();
}

void Watch::join(const ConnectedRanks& ranks) {
  if (ranks.boundaries.back() == 1) return;
  RankTable table{.ranks = {}, .hosts = {}, .boundaries = ranks.boundaries};
  const std::size_t hosts = ranks.boundaries.size() - 1;
  const std::size_t own_host = table.host_of(static_cast<std::size_t>(ranks.rank));
  const int first = ranks.boundaries[own_host], local_rank = ranks.rank - first;
  const int local_size = ranks.boundaries[own_host + 1] - first;
  // Either all ranks of a host have the launcher's facts, or none has.
  const auto proposals = gather(ranks, propose_job(memory_->inode() != 0));
  if (!std::ranges::all_of(proposals, &JobProposal::has_memory)) {
    monitor_.reset();
    const char* const job = proposals[static_cast<std::size_t>(first)].name.data();
    use(std::make_unique<JobMemory>(job, ranks.host, local_size), local_rank);
    numbers_ = {};
    enter(Collective::start, Group::world);
  }
  introduce(*own_, ranks.rank);

  Introduction own{.process = own_process(),
                   .device = memory_->device(),
                   .inode = memory_->inode(),
                   .slot = static_cast<std::int32_t>(own_ - &memory_->rank(0))};
  ranks.host.copy(own.host.data(), own.host.size() - 1);
  std::unique_ptr<Heartbeat> heartbeat;  // connects the first ranks of all hosts
  if (hosts > 1 && ranks.rank == 0) {
    heartbeat = listen_for_hosts(hosts, own.heartbeat);
    if (!heartbeat) {
      print_warning(
          fmt::format("no heartbeat between hosts, as host {} cannot listen for TCP connections: {}; "
                      "the run continues, but may notice a failure of another host late",
                      ranks.host, std::strerror(errno)));
    }
  }
  const auto all = gather(ranks, own);
  if (own_host > 0 && local_rank == 0 && all[0].heartbeat.port != 0) {
    heartbeat = connect_to_first_host(own_host, all[0].heartbeat);
  }

  table.ranks.resize(all.size());
  for (std::size_t host = 0; host < hosts; ++host)
    table.hosts.emplace_back(all[table.first(host)].host.data());
  MonitoredRanks monitored{.table = std::move(table), .host = own_host, .local_rank = local_rank};
  for (int i = 0; i < local_size; ++i) {
    const Introduction& peer = all[static_cast<std::size_t>(first + i)];
    monitored.slots.push_back(same_file(own, peer) ? peer.slot : -1);
  }
  monitored.heartbeat = std::move(heartbeat);
  one_host_ = hosts == 1;
  if (monitor_) {
    monitor_->watch(std::move(monitored));
  } else {
    monitor_ = std::make_unique<Monitor>(*memory_, std::move(monitored));
  }
  now_.waits = false;
  publish();
}

void Watch::set_limits(const HangLimits& hang) {
  if (monitor_) monitor_->change([&](MonitorOptions& options) { options.limits = hang; });
}
void Watch::set_report_folder(const std::filesystem::path& folder) {
  if (monitor_) monitor_->change([&](MonitorOptions& options) { options.report_folder = folder; });
}
void Watch::set_advice(const std::string& advice) {
  advice_ = advice;
  if (monitor_) monitor_->change([&](MonitorOptions& options) { options.advice = advice; });
}
void Watch::set_time_to_start(double seconds) {
  if (monitor_) monitor_->change([&](MonitorOptions& options) { options.time_to_start = seconds; });
}
void Watch::say_goodbye() {
  if (monitor_) monitor_->say_goodbye();
}
void Watch::set_device(const Device* device) {
  if (monitor_) monitor_->change([&](MonitorOptions& options) { options.device = device; });
}

void Watch::set_stage(Stage stage) {
  if (now_.stage == stage) return;
  now_.stage = stage;
  publish();
}

void Watch::begin_steps(std::uint64_t number) {
  now_.stage = Stage::training;
  now_.step = number;
  publish();
  steps_begin_ = now_.time;
}

void Watch::end_steps() {
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(1, coarse_time() - steps_begin_));
  const std::uint64_t usual = own_->usual_step.load(std::memory_order_relaxed);
  own_->usual_step.store(usual == 0 ? seconds : usual - usual / 8 + seconds / 8, std::memory_order_relaxed);
}

void Watch::enter(Collective kind, Group group, std::uint64_t bytes) {
  if (group == Group::host && one_host_) group = Group::world;
  now_.waits = true;
  now_.call = {.kind = kind,
               .group = group,
               .number = group == Group::alone ? 0 : ++numbers_[static_cast<std::size_t>(group)],
               .bytes = bytes};
  publish();
}

void Watch::leave(const Activity& before) {
  now_.waits = before.waits;
  if (before.waits) now_.call = before.call;
  publish();
}

void Watch::publish() {
  now_.time = coarse_time();
  own_->ring.add(now_);
}

void announce_end() noexcept {
  announced_end = true;
  if (JobMemory* const memory = watched_memory) {
    memory->remove();  // here, because the launcher kills the other ranks
    watched_slot.load()->ending = RankMemory::Ending::failed;
  }
}

void announce_common_end() noexcept {
  announced_end = true;
  if (watched_memory.load() == nullptr) return;
  auto none = RankMemory::Ending::no;
  watched_slot.load()->ending.compare_exchange_strong(none, RankMemory::Ending::failed_together);
}

bool has_announced_end() noexcept { return announced_end; }

}  // namespace lockstep
