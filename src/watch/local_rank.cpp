#include "watch/local_rank.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr double beat_limit = 2.0;  // s after which a rank's monitor counts as hung

}  // namespace

void LocalRank::look(RankState& state, double seconds, bool suspicious) {
  if (memory_ == nullptr) return;
  state.known = true;
  const ProcessId id = memory_->id();
  if (id.number != 0 && id.number != process_.id().number) process_ = WatchedProcess(id);
  state.process = id.number;
  if (id.number != 0 && state.number >= 0) state.number = memory_->rank.load();
  if (!state.ended && id.number != 0 && process_.has_ended()) {
    state.ended = true;
    state.wait_status = process_.wait_status().value_or(-1);
  }
  state.ends_by_itself = ending() != RankMemory::Ending::no;  // must be read after has_ended()
  state.usual_step = 1e-9 * static_cast<double>(memory_->usual_step.load(std::memory_order_relaxed));
  state.phase = static_cast<Phase>(memory_->phase.load(std::memory_order_relaxed));

  const std::uint64_t beat = memory_->beat.load(std::memory_order_relaxed), count = memory_->ring.count();
  const std::uint64_t calls = memory_->calls.load(std::memory_order_relaxed);
  const bool moved = count != count_ || calls != calls_;
  const double passed = suspicious && !moved && !state.ended ? measure(state, seconds) : seconds;
  beat_still_ = beat != beat_ ? 0.0 : beat_still_ + passed;
  if (count != count_) {
    const std::vector<Activity> history = memory_->ring.history();
    const std::vector<CollectiveCall> calls_made = calls_of(history);
    const std::size_t kept = std::min(calls_made.size(), RankState::recent_calls);
    std::copy(calls_made.end() - static_cast<std::ptrdiff_t>(kept), calls_made.end(), state.calls.begin());
    state.call_count = static_cast<std::uint32_t>(kept);
    if (!history.empty()) state.now = history.back();
  }
  if (moved) {
    state.still = state.waited = state.cores = 0.0;
    measured_ = false;
  } else {
    state.still += passed;
    state.waited = state.now.waits ? state.waited + seconds : 0.0;
  }
  if (!suspicious) state.stopped = false;
  beat_ = beat;
  count_ = count;
  calls_ = calls;
}

/// Examines the process of a rank without progress. Returns the part of the last `seconds` in which the rank
/// could have made progress: when none of its threads waited for a core.
double LocalRank::measure(RankState& state, double seconds) {
  const std::int64_t process = process_.id().number;
  if (process == 0) return seconds;
  const auto status = status_of(process);
  if (!status) return seconds;
  state.process_state = status->state;
  state.stopped = status->is_stopped() || !is_alive();
  const ProcessorTime now = processor_time_of(process);
  if (!measured_) {
    measured_ = true;
    since_ = last_ = now;
    suspected_for_ = delayed_for_ = 0.0;
    return seconds;
  }
  const double delay = delay_between(std::exchange(last_, now), now);
  suspected_for_ += seconds;
  delayed_for_ += delay;
  state.cores = (now.used - since_.used + delayed_for_) / suspected_for_;
  return seconds - std::min(seconds, delay);
}

bool LocalRank::is_alive() const { return beat_still_ < beat_limit; }

RankMemory::Ending LocalRank::ending() const {
  return memory_ == nullptr ? RankMemory::Ending::no : memory_->ending.load();
}

bool LocalRank::runs() { return memory_ != nullptr && process_.id().number != 0 && !process_.has_ended(); }

}  // namespace lockstep
