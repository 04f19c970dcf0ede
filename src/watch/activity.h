#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Part of a program's work. It determines how long a rank may keep others waiting before it counts as hung.
enum class Stage : std::uint8_t { start, training, evaluation, report, checkpoint, end };
/// Name for messages: "start-up", "training", ...
const char* name_of(Stage stage);

/// Whether a rank in `stage` may keep the others waiting for long, because it may read or write files or
/// compile.
bool is_patient(Stage stage);

/// Operation in which a rank waits for others. `device` is a wait for this rank's device: the work of a GPU
/// may depend on other ranks.
enum class Collective : std::uint8_t {
  none,
  start,
  finalize,
  agree,
  all_gather,
  broadcast,
  barrier,
  sum,
  gather,
  all_reduce,
  share_memory,
  device,
};
const char* name_of(Collective collective);

/// Ranks that take part in a collective. Each group numbers its collectives separately, because hosts may
/// need different numbers of them.
enum class Group : std::uint8_t { world, host, alone };
constexpr std::size_t group_count = 3;

/// Call of a collective by a rank. All ranks of the group make equal calls in the same order.
struct CollectiveCall {
  Collective kind = Collective::none;
  Group group = Group::world;
  std::uint64_t number = 0;  ///< within the group, from 1
  std::uint64_t bytes = 0;   ///< data of all ranks together, if every rank knows it; else 0

  bool operator==(const CollectiveCall&) const = default;
};

/// Name and number of a call, for messages: "all_gather 1841".
std::string describe(const CollectiveCall& call);

/// Activity of a rank, and the time at which it began.
struct Activity {
  std::int64_t time = 0;  ///< in ns, of the host's coarse monotonic clock
  std::uint64_t step = 0;
  Stage stage = Stage::start;
  bool waits = false;        ///< whether the rank waits in `call`
  CollectiveCall call = {};  ///< the last collective that the rank has entered

  bool operator==(const Activity&) const = default;
};

/// The last activities of a rank, in memory that other processes may read at any time without locks. Only one
/// thread may add activities. Zero bytes are an empty ring.
class ActivityRing {
 public:
  static constexpr std::size_t capacity = 64;

  void add(const Activity& activity);
  /// Number of activities added so far.
  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }
  /// The activity with this number, from 0; nothing if it has not been added yet or is no longer there.
  std::optional<Activity> read(std::uint64_t number) const;
  /// Activities that are still there, oldest first.
  std::vector<Activity> history() const;

 private:
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free);
  using Entry = std::array<Word, 5>;

  Word count_;
  std::array<Entry, capacity> entries_;
};

/// Number of steps that the rank has made; 0 before its first one.
std::uint64_t steps_made(const Activity& activity);

/// Collective calls in `activities`, oldest first, each call once.
std::vector<CollectiveCall> calls_of(const std::vector<Activity>& activities);

/// Time for Activity::time. Takes a few nanoseconds.
std::int64_t coarse_time();

}  // namespace lockstep
