#include "comm/watch/watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "comm/watch/job_memory.h"
#include "comm/watch/monitor.h"
#include "comm/world/runtime.h"

namespace lockstep {
namespace {

/// Message of a rank to all others.
struct Introduction {
  std::array<char, 64> host{};
  ProcessId process;
  std::uint64_t device = 0, inode = 0;  ///< of its memory's file
  std::int32_t slot = 0;                ///< its place there
};

/// Memory that announce_end writes to; null: no other rank watches.
std::atomic<JobMemory*> watched_memory{nullptr};
std::atomic<RankMemory*> watched_slot{nullptr};

std::string job_of_environment() {
  return read_job([](const char* name) { return std::getenv(name); });
}

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

/// Name of the job on this host, from its first rank: that of the launcher, or a random one.
std::string agree_on_job(const MpiGroup& host) {
  std::array<char, 128> name{};
  if (host.rank() == 0) {
    std::string job = job_of_environment();
    std::random_device random;
    if (job.empty()) job = std::to_string(std::uint64_t{random()} << 32 | random());
    job.copy(name.data(), name.size() - 1);
  }
  check_mpi(MPI_Bcast(name.data(), name.size(), MPI_BYTE, 0, host.get()), "MPI_Bcast");
  return name.data();
}

/// Connects the first ranks of all hosts; null on the other ranks, on one host, and where it is not possible.
std::unique_ptr<Heartbeat> connect_hosts(const RanksByHost& ranks, std::size_t own_host, bool first) {
  const std::size_t hosts = ranks.boundaries.size() - 1;
  if (hosts == 1) return nullptr;
  HeartbeatAddress address;
  std::unique_ptr<Heartbeat> heartbeat;
  if (first && own_host == 0) heartbeat = listen_for_hosts(hosts, address);
  check_mpi(MPI_Bcast(&address, sizeof address, MPI_BYTE, 0, ranks.world.get()), "MPI_Bcast");
  if (first && own_host > 0 && address.port != 0) heartbeat = connect_to_first_host(own_host, address);
  return heartbeat;
}

}  // namespace

Watch::Watch() : memory_(std::make_unique<JobMemory>()), own_(&memory_->rank(0)) {}

Watch::Watch(const Launch& launch, const std::string& host) : Watch() {
  now_.time = coarse_time();
  const std::string job = job_of_environment();
  if (launch.processes <= 1 || !launch.one_host || launch.local_rank < 0 || job.empty()) return;
  use(std::make_unique<JobMemory>(job, host, launch.processes), launch.local_rank);
  introduce(*own_, launch.rank);
  enter(Collective::start, Group::world);
  RankTable table{.ranks = {}, .hosts = {host}, .boundaries = {0, launch.processes}};
  table.ranks.resize(static_cast<std::size_t>(launch.processes));
  std::vector<int> slots;
  for (int slot = 0; slot < launch.processes; ++slot) slots.push_back(slot);
  monitor_ = std::make_unique<Monitor>(*memory_, MonitoredRanks{.table = std::move(table),
                                                                .slots = std::move(slots),
                                                                .host = 0,
                                                                .local_rank = launch.local_rank,
                                                                .heartbeat = nullptr});
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

void Watch::join(const RanksByHost& ranks, const MpiGroup& host) {
  const int size = ranks.world.size(), rank = ranks.world.rank(), local_rank = host.rank();
  if (size == 1) return;
  const auto own_host = static_cast<std::size_t>(std::ranges::upper_bound(ranks.boundaries, rank) -
                                                 ranks.boundaries.begin() - 1);
  std::array<char, 64> name{};
  gethostname(name.data(), name.size() - 1);
  // All ranks of a host have the launcher's facts, or none has.
  int shares = memory_->inode() != 0 ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &shares, 1, MPI_INT, MPI_MIN, ranks.world.get()), "MPI_Allreduce");
  if (shares == 0) {
    monitor_.reset();
    use(std::make_unique<JobMemory>(agree_on_job(host), name.data(), host.size()), local_rank);
  }
  introduce(*own_, rank);
  if (shares == 0) enter(Collective::start, Group::world);

  Introduction own{.host = name,
                   .process = own_process(),
                   .device = memory_->device(),
                   .inode = memory_->inode(),
                   .slot = static_cast<std::int32_t>(own_ - &memory_->rank(0))};
  std::vector<Introduction> all(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, ranks.world.get()),
            "MPI_Allgather");
  MonitoredRanks monitored{.host = own_host, .local_rank = local_rank};
  monitored.table.boundaries = ranks.boundaries;
  monitored.table.ranks.resize(all.size());
  for (std::size_t h = 0; h + 1 < ranks.boundaries.size(); ++h) {
    monitored.table.hosts.emplace_back(all[static_cast<std::size_t>(ranks.boundaries[h])].host.data());
  }
  for (int i = 0; i < host.size(); ++i) {
    const Introduction& peer = all[static_cast<std::size_t>(rank - local_rank + i)];
    monitored.slots.push_back(same_file(own, peer) ? peer.slot : -1);
  }
  one_host_ = monitored.table.hosts.size() == 1;
  monitored.heartbeat = connect_hosts(ranks, own_host, local_rank == 0);
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
  if (monitor_) monitor_->change([&](MonitorOptions& options) { options.advice = advice; });
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
  if (JobMemory* const memory = watched_memory) {
    memory->remove();  // the launcher kills the other ranks
    watched_slot.load()->ending = RankMemory::Ending::failed;
  }
}

void announce_common_end() noexcept {
  if (watched_memory.load() == nullptr) return;
  auto none = RankMemory::Ending::no;
  watched_slot.load()->ending.compare_exchange_strong(none, RankMemory::Ending::failed_together);
}

Watch& watch_of(const World& world) { return *world.runtime().watch; }

}  // namespace lockstep
