#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/files/file.h"
#include "core/process/process.h"
#include "watch/heartbeat.h"
#include "watch/job_memory.h"
#include "watch/local_rank.h"
#include "watch/slow_links.h"
#include "watch/verdict.h"

namespace lockstep {

class Device;

/// The ranks that a monitor watches.
struct MonitoredRanks {
  RankTable table = {};         ///< its ranks are filled in by the monitor
  std::vector<int> slots = {};  ///< of each rank of this host in the job's memory; -1: it has another memory
  std::size_t host = 0;         ///< number of this host
  int local_rank = 0;           ///< of this rank, on this host
  std::unique_ptr<Heartbeat> heartbeat = {};  ///< of the first rank of a host; null: none with other hosts
  int awaited = 0;  ///< number of ranks of other hosts that are not connected to these yet, in start-up

  /// First rank of this host.
  std::size_t first() const { return table.first(host); }
};

/// Options that change while the monitor runs.
struct MonitorOptions {
  HangLimits limits = {.usual = 60.0, .patient = 300.0};  ///< until the program has read its options
  std::filesystem::path report_folder = {};
  std::string advice = {};
  const Device* device = nullptr;
  double time_to_start = 10.0;  ///< seconds until warnings name ranks and hosts that are missing
};

/// Thread that publishes this rank's progress and looks at the other ranks a few times per second. On each
/// host the lowest rank whose monitor works decides. It ends the process when the job has failed.
class Monitor {
 public:
  /// `memory` outlives the monitor.
  Monitor(JobMemory& memory, MonitoredRanks ranks);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Replaces the watched ranks, of the same memory.
  void watch(MonitoredRanks ranks);
  void change(const std::function<void(MonitorOptions&)>& work);
  /// Announces to other hosts that the ranks of this one end, and whether one of them has printed an error.
  void say_goodbye();

 private:
  void run();
  void pause();
  void work(double seconds);
  RankState& state_of(std::size_t local) { return ranks_.table.ranks[ranks_.first() + local]; }
  RankMemory& own_memory() const {
    return memory_.rank(ranks_.slots[static_cast<std::size_t>(ranks_.local_rank)]);
  }
  bool is_own(std::size_t local) const { return local == static_cast<std::size_t>(ranks_.local_rank); }
  void publish();
  void start_watching();
  bool is_suspicious() const;
  bool decides() const;
  void exchange(double seconds);
  void receive(const HeartbeatMessage& message);
  void send_states(std::size_t host);
  void send_to_others(HeartbeatMessage::Type type, std::span<const std::byte> bytes);
  void take_echo(const HeartbeatMessage& echo);
  void find_lost_hosts(double seconds);
  void warn_of_missing_hosts(double seconds);
  void warn_of_awaited_ranks(double seconds);
  HangLimits limits_here() const;
  void check_parent(double seconds);
  bool any_ends(RankMemory::Ending ending) const;
  /// Whether a rank has printed an error: one of this host, or one of another host that has said so. The
  /// launcher then kills the others.
  bool has_failed() const { return any_ends(RankMemory::Ending::failed); }
  bool is_end_of_failure(const Verdict& verdict) const;
  void check_failed(double seconds);

  bool defers_to_first_host(const Verdict& verdict, double seconds);
  void report(const Verdict& verdict);
  void report_failure(const Verdict& verdict) const;
  bool becomes_reporter();
  [[noreturn]] void end_job(const std::vector<std::size_t>& ranks_at_fault);

  JobMemory& memory_;
  MonitoredRanks ranks_;
  std::mutex mutex_;  ///< of options_ and ranks_
  MonitorOptions options_;
  std::vector<LocalRank> locals_;
  SlowLinks links_;               ///< of the first host with the others
  std::vector<double> lost_for_;  ///< of each host: seconds since its connection was lost
  double since_states_ = 0.0;     ///< seconds since states were sent
  double connecting_for_ = 0.0;   ///< seconds since other hosts began to connect
  double starting_for_ = 0.0;     ///< seconds for which ranks of this host waited for others of it to start
  double awaiting_for_ = 0.0;     ///< seconds since all of them wait in start-up for those of other hosts
  double failed_for_ = 0.0;       ///< seconds since a rank ended that has printed an error
  double deferred_for_ = 0.0;     ///< seconds since a verdict was left to rank 0
  double orphaned_for_ = 0.0;     ///< seconds since the launcher has ended
  pid_t parent_;
  std::optional<WatchedProcess> launcher_;  ///< mpirun or its daemon
  FileDescriptor wake_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace lockstep
