#include "train/shares/measured_shares.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>
#include <utility>

#include "device/cpu/cpu_device.h"

namespace lockstep {
namespace {

/// Number of steps that are not measured after a change of shares, while programs are recorded and threads
/// settle on cores.
constexpr std::uint64_t settling = 2;
/// Ranks exchange measurements after this number of steps, then after twice as many, and so on. Shares are
/// decided once the measured seconds are enough to average out other activity of the machine: a scheduler
/// lets threads take turns every few milliseconds.
constexpr std::uint64_t first_look = 4;
constexpr double long_enough = 0.2;
/// Steps between changes with ShareRule::changing, after the settling steps.
constexpr std::uint64_t steps_between_changes = 1;

/// Number of values that a rank sends before the seconds of its executors: seconds of its steps, whether it
/// has memory for other shares, seconds in which its executors had a core.
constexpr std::size_t per_rank = 3;

/// Number of executors of every rank; 0 for a rank whose shares do not follow measurements. `own`: number on
/// this rank.
std::vector<int> gather_executors(const Session& session, std::size_t own) {
  const bool measured = session.execution().shares == ShareRule::measured;
  const bool follows = session.placement().device == DeviceKind::cpu && !(measured && share_cores(session));
  return all_gather(session.between_hosts(), follows ? static_cast<int>(own) : 0);
}

/// Whether sums can be planned again: plans over several hosts with several ranks keep shared memory until
/// the end of the run.
bool can_plan_again(const Session& session) {
  return session.world().hosts() == 1 || session.world().hosts() == session.world().size();
}

}  // namespace

bool share_cores(const Session& session) {
  const World& world = session.world();
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  const int own = part_of_cores(processors, world.local_rank(), world.local_size()).count;
  return static_cast<int>(session.device().streams().size()) > own;
}

MeasuredShares::MeasuredShares(const Session& session, std::uint32_t leaves, std::size_t executors,
                               std::size_t elements)
    : session_(session), executors_(executors), rule_(session.execution().shares) {
  const std::vector<int> of_ranks = gather_executors(session, executors_);
  const bool some_stay = std::ranges::find(of_ranks, 0) != of_ranks.end();
  if (rule_ == ShareRule::equal || some_stay || !can_plan_again(session)) return;
  const std::vector<double>& weights = session.execution().rank_weights;
  // With the ring, bits depend on which leaves a rank sums.
  const bool ranks_keep = !weights.empty() || session.placement().reduce == Reduce::ring;
  SharePlanner planner(equal_shares(leaves, of_ranks, weights), ranks_keep);
  const std::size_t count = planner.shares().leaves.size();
  if (count == 1) return;
  planner_ = std::move(planner);
  for (const int own : of_ranks) {
    bytes_.push_back((per_rank + static_cast<std::size_t>(own)) * sizeof(double));
  }
  own_.resize(bytes_[static_cast<std::size_t>(session.world().rank())] / sizeof(double));
  all_.resize(of_ranks.size() * per_rank + count);
  measurement_.computing.resize(count);
  // See PartialSumPlan for the number of an executor's arenas. Doubled, as other ranks need memory too.
  arenas_bytes_ = 2 * (own_.size() - per_rank) * (2 + std::bit_width(leaves)) * elements * sizeof(float);
}

Assignment MeasuredShares::assign(std::uint32_t leaves) const {
  if (!planner_ || planner_->are_equal()) return session_.assign(leaves, executors_);
  return lockstep::assign(leaves, planner_->shares(), session_.world().rank());
}

bool MeasuredShares::add(double seconds, double processor_seconds, std::span<const double> computing) {
  if (!planner_ || ++steps_ <= settling) return false;
  own_[0] += seconds;
  own_[2] += processor_seconds;
  for (std::size_t e = 0; e < computing.size(); ++e) own_[per_rank + e] += computing[e];
  const std::uint64_t measured = steps_ - settling;
  const bool changing = rule_ == ShareRule::changing;
  if (changing ? measured < steps_between_changes : measured < first_look || !std::has_single_bit(measured)) {
    return false;
  }
  const bool room = gather(static_cast<double>(measured));
  if (!changing && all_[0] < long_enough) return false;
  steps_ = 0;
  std::ranges::fill(own_, 0.0);
  if (!room) return false;
  return changing ? planner_->change() : planner_->measured(measurement_);
}

/// Exchanges the measurements. Returns whether all ranks have memory for other shares. Collective.
bool MeasuredShares::gather(double steps) {
  const bool decides = rule_ == ShareRule::changing || own_[0] >= long_enough;
  own_[1] = decides && session_.device().available_bytes() >= arenas_bytes_ ? 1.0 : 0.0;
  session_.between_hosts().all_gather_bytes(std::as_bytes(std::span(own_)), bytes_,
                                            std::as_writable_bytes(std::span(all_)));
  measurement_.seconds = all_[0] / steps;
  bool room = true;
  double had_cores = 0.0;
  auto from = all_.begin();
  auto to = measurement_.computing.begin();
  for (const std::size_t bytes : bytes_) {
    const auto end = from + static_cast<std::ptrdiff_t>(bytes / sizeof(double));
    room = room && from[1] > 0.0;
    had_cores += from[2] / steps;
    to = std::transform(from + per_rank, end, to, [steps](double seconds) { return seconds / steps; });
    from = end;
  }
  const double computing = std::reduce(measurement_.computing.begin(), measurement_.computing.end());
  measurement_.stolen = 1.0 - had_cores / computing;
  return room;
}

}  // namespace lockstep
