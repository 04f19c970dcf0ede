#include "train/loop/request_exchange.h"

#include <algorithm>
#include <bit>

#include "train/evaluator.h"
#include "train/shares/measured_shares.h"

namespace lockstep {
namespace {

/// Time of a step, or of a part of it, after which ranks are asked whether to abandon it. Ranks and executors
/// wait for each other then.
constexpr double seconds_of_a_round = 4.0;

/// Word that brings a request and the time of a step to other ranks. The request decides which word is the
/// largest.
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

RequestExchange::RequestExchange(const Session& session, const Run& run, const RunHooks& hooks)
    : session_(session),
      hooks_(hooks),
      passes_(2 * static_cast<std::uint64_t>(run.options.batch.micro_batches)),
      estimated_step_seconds_(3.0 * forward_seconds(session, run.network, run.epoch.samples_at(0))),
      has_cores_(!share_cores(session)) {}

void RequestExchange::begin_epoch(bool always) {
  asks_ = always;
  if (always) return;
  const std::uint64_t largest =
      std::ranges::max(all_gather(session_.between_hosts(), word_of(hooks_.ask ? 1 : 0, step_seconds_)));
  asks_ = request_of(largest) > 0;
  slowest_step_seconds_ = seconds_of(largest);
}

void RequestExchange::add(const StepTimes& times) {
  step_seconds_ = times.total / times.steps;
  pending_.steps += static_cast<std::uint64_t>(times.steps);
  pending_.seconds += times.load + times.forward + times.backward;
  pending_.samples += times.own_samples;
  pending_.known = pending_.known && times.by_part;
}

Request RequestExchange::exchange(std::uint64_t step, Request own) {
  if (!asks_) return Request::none;
  if (hooks_.ask) own = std::max(own, hooks_.ask());
  struct Word {
    std::uint64_t request;
    double seconds;  ///< per sample of the rank's share; 0: not comparable
  };
  const bool comparable = pending_.known && has_cores_ && pending_.samples > 0;
  const std::vector<Word> words =
      all_gather(session_.between_hosts(),
                 Word{word_of(static_cast<std::uint64_t>(own), step_seconds_),
                      comparable ? pending_.seconds / static_cast<double>(pending_.samples) : 0.0});
  const std::uint64_t largest = std::ranges::max(words, {}, &Word::request).request;
  slowest_step_seconds_ = seconds_of(largest);
  if (words.size() > 1 && pending_.steps > 0) {
    own_seconds_.clear();
    for (const Word& word : words) own_seconds_.push_back(word.seconds);
    find_stragglers(step, own_seconds_);
  }
  pending_ = {};
  return static_cast<Request>(request_of(largest));
}

void RequestExchange::find_stragglers(std::uint64_t step, std::span<const double> own) {
  const auto found =
      stragglers_.add(pending_.steps, static_cast<double>(pending_.steps) * slowest_step_seconds_, own);
  if (found.empty()) return;
  const auto hosts = all_gather(session_.between_hosts(), FixedText<256>(session_.world().host()));
  if (!hooks_.on_event) return;
  for (const StragglerDetector::Finding& finding : found) {
    hooks_.on_event(StragglerReport{.step = step,
                                    .rank = static_cast<int>(finding.rank),
                                    .host = hosts[finding.rank].text(),
                                    .steps = finding.steps,
                                    .seconds = finding.own,
                                    .median = finding.median});
  }
}

std::uint64_t RequestExchange::steps_to_boundary() const {
  const Placement& placement = session_.placement();
  if (slowest_step_seconds_ > 0.0) return steps_in_time(slowest_step_seconds_, placement.max_steps_at_once);
  return asks_ ? 1 : std::uint64_t{placement.steps_at_once};
}

std::uint64_t RequestExchange::rounds_of_step() const {
  if (!asks_) return 1;
  const double seconds = slowest_step_seconds_ > 0.0 ? slowest_step_seconds_ : estimated_step_seconds_;
  const auto rounds = static_cast<std::uint64_t>(seconds / seconds_of_a_round);
  return std::bit_ceil(
      std::min(rounds, passes_));  // few different numbers, as programs are recorded for each
}

}  // namespace lockstep
