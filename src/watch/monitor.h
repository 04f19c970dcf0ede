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
  RankTable table = {};         ///< the monitor fills in its ranks
  std::vector<int> slots = {};  ///< place of each rank of this host in the job's memory; -1: not in it
  std::size_t host = 0;         ///< number of this host
  int local_rank = 0;           ///< number of this rank among those of this host
  std::unique_ptr<Heartbeat> heartbeat = {};  ///< only on the first rank of a host; null: no heartbeat
  int awaited = 0;  ///< number of ranks on other hosts that are not connected yet, during start-up

  /// First rank of this host.
  std::size_t first() const { return table.first(host); }
};

/// Options that change while the monitor runs.
struct MonitorOptions {
  HangLimits limits = {.usual = 60.0, .patient = 300.0};  ///< default until the program has read its options
  std::filesystem::path report_folder = {};
  std::string advice = {};
  const Device* device = nullptr;
  double time_to_start = 10.0;  ///< seconds until warnings name ranks and hosts that are missing
};

/// Thread that publishes this rank's progress and checks the other ranks a few times per second. On each
/// host, the lowest rank whose monitor works decides whether the job has failed. A monitor ends its process
/// when the job has failed.
class Monitor {
 public:
  /// `memory` must outlive the monitor.
  Monitor(JobMemory& memory, MonitoredRanks ranks);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Replaces the watched ranks; the new ones must be in the same memory.
  void watch(MonitoredRanks ranks);
  void change(const std::function<void(MonitorOptions&)>& work);
  /// Announces to other hosts that the ranks of this host end, and whether one of them has printed an error.
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
  /// Whether a rank of this host has printed an error, or another host has reported that one of its ranks
  /// has. The launcher then kills the other ranks.
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
  std::mutex mutex_;  ///< protects options_ and ranks_
  MonitorOptions options_;
  std::vector<LocalRank> locals_;
  SlowLinks links_;               ///< links of the first host to the others
  std::vector<double> lost_for_;  ///< seconds since the connection to each host was lost
  double since_states_ = 0.0;     ///< seconds since states were sent
  double connecting_for_ = 0.0;   ///< seconds since other hosts began to connect
  double starting_for_ = 0.0;     ///< seconds for which this host has waited for ranks of its own to start
  double awaiting_for_ = 0.0;     ///< seconds for which all its ranks have waited for other hosts to start
  double failed_for_ = 0.0;       ///< seconds since has_failed() became true
  double deferred_for_ = 0.0;     ///< seconds since a verdict was left to rank 0
  double orphaned_for_ = 0.0;     ///< seconds since the launcher ended
  pid_t parent_;
  std::optional<WatchedProcess> launcher_;  ///< mpirun or its daemon
  FileDescriptor wake_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace lockstep
