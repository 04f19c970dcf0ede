#include "train/loop/request_policy.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "train/evaluator.h"
#include "train/shares/measured_shares.h"

namespace lockstep {
namespace {

/// Seconds of a step, or of a part of a step, after which ranks exchange requests to decide whether to
/// abandon the step. Ranks and executors wait for each other at these times.
constexpr double seconds_of_a_round = 4.0;

/// A word for other ranks holds a request in its upper bits and a step time in its lower bits, so that the
/// largest word has the largest request.
constexpr int bits_of_time = 56;
std::uint64_t word_of(std::uint64_t request, double step_seconds) {
  constexpr std::uint64_t longest = (std::uint64_t{1} << bits_of_time) - 1;
  const double nanoseconds = std::min(step_seconds * 1e9, 0.5 * static_cast<double>(longest));
  return request << bits_of_time | static_cast<std::uint64_t>(nanoseconds);
}
std::uint64_t request_of(std::uint64_t word) { return word >> bits_of_time; }
double seconds_of(std::uint64_t word) {
  return static_cast<double>(word << (64 - bits_of_time) >> (64 - bits_of_time)) * 1e-9;
}

}  // namespace

std::uint64_t steps_in_time(double step_seconds, std::uint64_t max) {
  constexpr double seconds_between_boundaries = 0.2;
  const double steps = std::clamp(seconds_between_boundaries / step_seconds, 1.0, static_cast<double>(max));
  return static_cast<std::uint64_t>(steps);
}

RequestPolicy::RequestPolicy(const RunParts& parts, EpochInProgress& epoch, const ReplicaChecks& replicas)
    : parts_(parts),
      epoch_(epoch),
      replicas_(replicas),
      passes_(2 * static_cast<std::uint64_t>(parts.run.options.batch.micro_batches)),
      estimated_step_seconds_(
          3.0 * forward_seconds(parts.session, parts.run.network, parts.run.epoch.samples_at(0))),
      has_cores_(!share_cores(parts.session)) {}

void RequestPolicy::begin_epoch() {
  asks_ = parts_.checkpointer != nullptr;
  if (asks_) return;
  const std::uint64_t request = parts_.hooks.ask ? 1 : 0;
  const std::uint64_t largest =
      std::ranges::max(all_gather(parts_.session.between_hosts(), word_of(request, step_seconds_)));
  asks_ = request_of(largest) > 0;
  slowest_step_seconds_ = seconds_of(largest);
}

void RequestPolicy::add(const StepTimes& times) {
  step_seconds_ = times.total / times.steps;
  pending_.steps += static_cast<std::uint64_t>(times.steps);
  pending_.seconds += times.load + times.forward + times.backward;
  pending_.samples += times.own_samples;
  pending_.known = pending_.known && times.by_part;
}

Request RequestPolicy::exchange(Request own) {
  if (!asks_) return Request::none;
  if (parts_.hooks.ask) own = std::max(own, parts_.hooks.ask());
  struct Word {
    std::uint64_t request;
    double seconds;  ///< per sample of the rank's share; 0: not comparable
  };
  const bool comparable = pending_.known && has_cores_ && pending_.samples > 0;
  const std::vector<Word> words =
      all_gather(parts_.session.between_hosts(),
                 Word{word_of(static_cast<std::uint64_t>(own), step_seconds_),
                      comparable ? pending_.seconds / static_cast<double>(pending_.samples) : 0.0});
  const std::uint64_t largest = std::ranges::max(words, {}, &Word::request).request;
  slowest_step_seconds_ = seconds_of(largest);
  if (words.size() > 1 && pending_.steps > 0) {
    std::vector<double> own_seconds;
    for (const Word& word : words) own_seconds.push_back(word.seconds);
    find_stragglers(own_seconds);
  }
  pending_ = {};
  return static_cast<Request>(request_of(largest));
}

void RequestPolicy::find_stragglers(std::span<const double> seconds) {
  const auto found =
      stragglers_.add(pending_.steps, static_cast<double>(pending_.steps) * slowest_step_seconds_, seconds);
  if (found.empty()) return;
  const auto hosts =
      all_gather(parts_.session.between_hosts(), FixedText<256>(parts_.session.world().host()));
  if (!parts_.hooks.on_event) return;
  for (const StragglerDetector::Finding& finding : found) {
    parts_.hooks.on_event(StragglerReport{.step = parts_.state.progress.step,
                                          .rank = static_cast<int>(finding.rank),
                                          .host = hosts[finding.rank].text(),
                                          .steps = finding.steps,
                                          .seconds = finding.own,
                                          .median = finding.median});
  }
}

std::uint64_t RequestPolicy::steps_to_boundary() const {
  const Placement& placement = parts_.session.placement();
  if (slowest_step_seconds_ > 0.0) return steps_in_time(slowest_step_seconds_, placement.max_steps_at_once);
  return asks_ ? 1 : std::uint64_t{placement.steps_at_once};
}

std::uint64_t RequestPolicy::rounds_of_step() const {
  if (!asks_) return 1;
  const double seconds = slowest_step_seconds_ > 0.0 ? slowest_step_seconds_ : estimated_step_seconds_;
  const auto rounds = static_cast<std::uint64_t>(seconds / seconds_of_a_round);
  return std::bit_ceil(
      std::min(rounds, passes_));  // few different numbers, as each needs its recorded programs
}

std::uint64_t RequestPolicy::steps_until_due(std::uint64_t step) const {
  const std::uint64_t checkpoint =
      parts_.checkpointer == nullptr ? never : parts_.checkpointer->steps_until_due(step);
  return std::min(steps_to_boundary(), checkpoint);
}

Next RequestPolicy::act(Boundary boundary) {
  if (boundary == Boundary::before_evaluation) return Next::step;
  const bool due = parts_.checkpointer != nullptr && parts_.checkpointer->is_due(boundary);
  return carry_out(exchange(due ? Request::checkpoint : Request::none));
}

Next RequestPolicy::carry_out(Request request) {
  if (request == Request::none) return Next::step;
  const World& world = parts_.session.world();
  const InStage in(watch_of(world), Stage::checkpoint);
  world.agree([&] {
    if (parts_.hooks.act) parts_.hooks.act(request);
  });
  if (parts_.checkpointer != nullptr) {
    epoch_.store_contents();
    replicas_.check_parameters();  // so that a run can continue from any checkpoint
    parts_.checkpointer->begin();
    if (request == Request::stop) parts_.checkpointer->finish();
  }
  return request == Request::stop ? Next::stop : Next::step;
}

}  // namespace lockstep
