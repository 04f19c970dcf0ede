#include "watch/activity.h"

#include <algorithm>

#include "core/clock.h"

namespace lockstep {
namespace {

using Words = std::array<std::uint64_t, 5>;

Words pack(const Activity& activity) {
  const CollectiveCall& call = activity.call;
  const std::uint64_t kinds =
      static_cast<std::uint64_t>(activity.stage) | static_cast<std::uint64_t>(call.kind) << 8 |
      static_cast<std::uint64_t>(call.group) << 16 | static_cast<std::uint64_t>(activity.waits) << 24;
  return {static_cast<std::uint64_t>(activity.time), activity.step, kinds, call.number, call.bytes};
}

Activity unpack(const Words& words) {
  const std::uint64_t kinds = words[2];
  return {.time = static_cast<std::int64_t>(words[0]),
          .step = words[1],
          .stage = static_cast<Stage>(kinds & 0xff),
          .waits = (kinds >> 24 & 1) != 0,
          .call = {.kind = static_cast<Collective>(kinds >> 8 & 0xff),
                   .group = static_cast<Group>(kinds >> 16 & 0xff),
                   .number = words[3],
                   .bytes = words[4]}};
}

}  // namespace

const char* name_of(Stage stage) {
  constexpr std::array names{"start-up", "training", "evaluation", "report", "checkpoint", "end"};
  return names.at(static_cast<std::size_t>(stage));
}

bool is_patient(Stage stage) { return stage != Stage::training && stage != Stage::evaluation; }

const char* name_of(Collective collective) {
  constexpr std::array names{"nothing", "MPI_Init", "MPI_Finalize", "agree",      "all_gather",   "broadcast",
                             "barrier", "sum",      "gather",       "all_reduce", "share_memory", "device"};
  return names.at(static_cast<std::size_t>(collective));
}

std::string describe(const CollectiveCall& call) {
  const std::string name = name_of(call.kind);
  const bool numbered = call.group != Group::alone && call.kind != Collective::start;
  return numbered ? name + " " + std::to_string(call.number) : name;
}

/// Entry n overwrites entry n - capacity after count_ has become n. All its words are stored after count_, so
/// a reader that sees a word of entry n also sees a count of n or more.
void ActivityRing::add(const Activity& activity) {
  const std::uint64_t number = count_.load(std::memory_order_relaxed);
  const Words words = pack(activity);
  Entry& entry = entries_[number % capacity];
  for (std::size_t i = 0; i < words.size(); ++i) entry[i].store(words[i], std::memory_order_release);
  count_.store(number + 1, std::memory_order_release);
}

std::optional<Activity> ActivityRing::read(std::uint64_t number) const {
  if (number >= count()) return std::nullopt;
  Words words{};
  const Entry& entry = entries_[number % capacity];
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = entry[i].load(std::memory_order_acquire);
  if (count() >= number + capacity) return std::nullopt;
  return unpack(words);
}

std::vector<Activity> ActivityRing::history() const {
  const std::uint64_t end = count();
  std::vector<Activity> activities;
  for (std::uint64_t number = end - std::min<std::uint64_t>(end, capacity - 1); number < end; ++number) {
    if (auto activity = read(number)) activities.push_back(*activity);
  }
  return activities;
}

std::uint64_t steps_made(const Activity& activity) {
  const bool in_step = activity.stage == Stage::training && activity.step > 0;
  return in_step ? activity.step - 1 : activity.step;
}

std::vector<CollectiveCall> calls_of(const std::vector<Activity>& activities) {
  std::vector<CollectiveCall> calls;
  for (const Activity& activity : activities) {
    if (activity.call.kind == Collective::none) continue;
    if (std::ranges::find(calls, activity.call) == calls.end()) calls.push_back(activity.call);
  }
  return calls;
}

std::int64_t coarse_time() { return clock_nanoseconds(CLOCK_MONOTONIC_COARSE); }

}  // namespace lockstep
