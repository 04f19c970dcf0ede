#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "watch/activity.h"
#include "watch/verdict.h"

namespace lockstep {

class Device;
class JobMemory;
class Monitor;
struct RankMemory;

/// Ranks that a launcher started together, as far as this host knows them before they are connected.
struct StartedRanks {
  std::string host;     ///< name of this host
  int count = 1;        ///< number of all ranks; also 1 if unknown
  int rank = 0;         ///< rank of this process among all
  int local_rank = -1;  ///< rank of this process on this host; -1: unknown
  int local_count = 0;  ///< number of ranks on this host; 0: unknown
};

/// All ranks once they are connected, numbered so that the ranks of a host are contiguous.
struct ConnectedRanks {
  std::string host;             ///< name of this host
  int rank = 0;                 ///< rank of this process
  std::vector<int> boundaries;  ///< first rank of each host, then the number of ranks
  /// Gathers bytes from all ranks in rank order; each passes the same number. Collective.
  std::function<std::vector<std::byte>(std::span<const std::byte> own)> gather;
};

/// Watchdog of a rank. The rank reports its activities to memory that the other ranks of its host can read
/// and that survives its exit. A low-cost thread observes the other ranks, through a heartbeat if they are on
/// other hosts. If a rank exits for an unknown reason, hangs while others wait for it, or enters a different
/// collective, one rank prints a sentence that names the rank at fault and writes the state of all ranks to a
/// file, and all ranks end with the status of Category::peer. Methods must be called on the thread that makes
/// the collective calls.
class Watch {
 public:
  /// Starts to watch the ranks of this host, which are not connected yet.
  explicit Watch(const StartedRanks& ranks);
  /// Disabled watchdog, for a single rank.
  Watch();
  /// Stops watching. No other rank may wait for this one any more.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Watches all ranks from now on. Collective.
  void join(const ConnectedRanks& ranks);

  /// Sets the limits of the run; until then only ranks without progress for minutes count as hung.
  void set_limits(const HangLimits& hang);
  /// Sets the folder for the file about a failure. If none is set or it cannot be written to, the file goes
  /// to the folder for temporary files.
  void set_report_folder(const std::filesystem::path& folder);
  /// Sets the advice that ends the sentence about a failure and this rank's errors: "resume with: ...".
  void set_advice(const std::string& advice);
  const std::string& advice() const { return advice_; }
  /// Sets the time in seconds after which warnings name ranks that have not started; default: 10.
  void set_time_to_start(double seconds);
  /// Announces to other hosts that the ranks of this host end because of an error. Must follow announce_end.
  void say_goodbye();
  /// Watches the progress of `device` until null is set.
  void set_device(const Device* device);

  /// Reports the stage of this rank's work. Takes nanoseconds.
  void set_stage(Stage stage);
  Stage stage() const { return now_.stage; }
  /// Stage, step and collective of this rank at present.
  const Activity& activity() const { return now_; }
  /// Report the beginning and the end of steps that are submitted together, the first of them step `number`.
  void begin_steps(std::uint64_t number);
  void end_steps();
  /// Report that this rank enters and leaves a collective of `group` in which ranks wait for each other.
  /// `bytes`: data of all ranks together, if every rank knows it; else 0. `before`: activity before enter().
  void enter(Collective kind, Group group, std::uint64_t bytes = 0);
  void leave(const Activity& before);
  /// Calls `work`, which makes a collective call, between enter() and leave().
  template <class Work>
  auto during(Collective kind, Group group, std::uint64_t bytes, const Work& work);

 private:
  void use(std::unique_ptr<JobMemory> memory, int slot);
  void publish();

  std::unique_ptr<JobMemory> memory_;
  RankMemory* own_;
  Activity now_;
  std::array<std::uint64_t, group_count> numbers_{};  ///< number of the last collective of each group
  bool one_host_ = true;  ///< whether all ranks are on this host; Group::host then means Group::world
  std::int64_t steps_begin_ = 0;
  std::string advice_;
  std::unique_ptr<Monitor> monitor_;  ///< null: no rank is watched
};

/// Reports a collective during its lifetime.
class InCollective {
 public:
  InCollective(Watch& watch, Collective kind, Group group, std::uint64_t bytes = 0)
      : watch_(watch), before_(watch.activity()) {
    watch.enter(kind, group, bytes);
  }
  ~InCollective() { watch_.leave(before_); }
  InCollective(const InCollective&) = delete;
  InCollective& operator=(const InCollective&) = delete;

 private:
  Watch& watch_;
  Activity before_;
};

template <class Work>
auto Watch::during(Collective kind, Group group, std::uint64_t bytes, const Work& work) {
  const InCollective in(*this, kind, group, bytes);
  return work();
}

/// Reports, during its lifetime, that this rank does work of its own within a collective, such as reading the
/// samples that its GPU needs. Afterwards the rank waits in the collective again.
class OwnWork {
 public:
  explicit OwnWork(Watch& watch) : watch_(watch), before_(watch.activity()) { watch_.leave({}); }
  ~OwnWork() { watch_.leave(before_); }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  Watch& watch_;
  Activity before_;
};

/// Sets the stage during its lifetime; then restores the previous one.
class InStage {
 public:
  InStage(Watch& watch, Stage stage) : watch_(watch), before_(watch.stage()) { watch.set_stage(stage); }
  ~InStage() { watch_.set_stage(before_); }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  Watch& watch_;
  Stage before_;
};

/// Marks this process as exiting deliberately; any error is already printed. Safe in signal handlers.
void announce_end() noexcept;

/// Marks this process as exiting after an error that all ranks have agreed on.
void announce_common_end() noexcept;

/// Whether this process has announced its end. Safe in signal handlers.
bool has_announced_end() noexcept;

}  // namespace lockstep
