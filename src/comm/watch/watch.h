#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "comm/watch/activity.h"
#include "comm/watch/verdict.h"

namespace lockstep {

class Device;
class JobMemory;
class Monitor;
class World;
struct Launch;
struct RankMemory;
struct RanksByHost;
class MpiGroup;

/// Watchdog of a rank. The rank tells it what it does, in memory that the other ranks of its host can read
/// and that survives its end. A thread of low cost looks at the other ranks, over hosts by a heartbeat. If a
/// rank ends without a reason told, hangs while others wait for it, or enters a different collective, one
/// rank prints a sentence that names it and writes the state of all ranks to a file, and all ranks end with
/// the status of Category::peer. Methods are called by the thread that makes the collective calls.
class Watch {
 public:
  /// Starts to watch the ranks of this host, as far as the launcher has told about them.
  Watch(const Launch& launch, const std::string& host);
  /// Watch of a rank alone, whom nobody waits for.
  Watch();
  /// Stops watching. This rank must not be waited for any more.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Watches all ranks from now on. `host`: those of this host. Collective.
  void join(const RanksByHost& ranks, const MpiGroup& host);

  /// Tells the options of the run; until then only ranks that are still for minutes count as hung.
  void set_limits(const HangLimits& hang);
  /// Folder for the file about a failure; without it, or where it cannot be written: the current one, then
  /// that for temporary files.
  void set_report_folder(const std::filesystem::path& folder);
  /// End of the sentence about a failure, which says how to go on: "resume with: ...".
  void set_advice(const std::string& advice);
  /// Watches the progress of `device` until null is set.
  void set_device(const Device* device);

  /// Tells what this rank does from now on. Takes nanoseconds.
  void set_stage(Stage stage);
  Stage stage() const { return now_.stage; }
  /// Tells that steps from `number` on, submitted together, begin and end.
  void begin_steps(std::uint64_t number);
  void end_steps();
  /// Tells that this rank enters and leaves a collective of `group` in which ranks wait for each other.
  /// `bytes`: data of all ranks together, where every rank knows it.
  void enter(Collective kind, Group group, std::uint64_t bytes = 0);
  void leave(const Activity& before);
  /// Calls `work`, which is or contains such a collective.
  template <class Work>
  auto during(Collective kind, Group group, std::uint64_t bytes, const Work& work);

 private:
  friend class InCollective;
  void use(std::unique_ptr<JobMemory> memory, int slot);
  void publish();

  std::unique_ptr<JobMemory> memory_;
  RankMemory* own_;
  Activity now_;
  std::array<std::uint64_t, group_count> numbers_{};  ///< of the last collective of each group
  bool one_host_ =
      true;  ///< the ranks of the host are all ranks, and their collectives are those of the world
  std::int64_t steps_begin_ = 0;
  std::unique_ptr<Monitor> monitor_;  ///< null: nobody is watched
};

/// Time within a collective.
class InCollective {
 public:
  InCollective(Watch& watch, Collective kind, Group group, std::uint64_t bytes = 0)
      : watch_(watch), before_(watch.now_) {
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

/// Time within a stage; restores the one before.
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

/// Tells the other ranks that this process is about to end for a reason that has been told. Does nothing
/// where no other rank watches. Safe in signal handlers.
void announce_end() noexcept;

/// Tells the other ranks that this one ends, as they do, because of an error that all of them know.
void announce_common_end() noexcept;

/// The watchdog of this rank.
Watch& watch_of(const World& world);

}  // namespace lockstep
