#include "train/epoch_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "comm/watch/watch.h"
#include "lockstep/error.h"
#include "train/step/outcome.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

/// Working seconds of this rank's executors; the total time if it is not known by part.
double working_seconds(const StepTimes& times) {
  return times.by_part ? times.load + times.forward + times.backward + times.fold : times.total;
}

/// Steps that are skipped one after the other, and returns to a checkpoint without a whole epoch in between,
/// before the run is given up.
constexpr int max_skipped_in_row = 10;
constexpr int max_rollbacks = 10;

}  // namespace

EpochLoop::EpochLoop(const Session& session, const Run& run, TrainingSteps& steps, Evaluator& evaluator,
                     Evaluator* validator, TrainingState& state, LoopObservers observers)
    : session_(session),
      run_(run),
      steps_(steps),
      evaluator_(evaluator),
      validator_(validator),
      state_(state),
      progress_(state.progress),
      observers_(observers),
      requests_(session, run, observers.ask, observers.on_straggler) {}

std::uint64_t EpochLoop::total_steps() const {
  const std::uint64_t all = steps_per_epoch() * static_cast<std::uint64_t>(run_.options.epochs);
  return run_.options.max_steps == 0 ? all : std::min(all, run_.options.max_steps);
}

bool EpochLoop::too_long_without_a_better_epoch() const {
  if (run_.options.early_stopping == 0 || progress_.best.epoch == 0) return false;
  const std::uint64_t complete = progress_.step / steps_per_epoch();
  return complete >= static_cast<std::uint64_t>(progress_.best.epoch + run_.options.early_stopping);
}

int EpochLoop::epochs() const {
  const std::uint64_t whole = (progress_.step - (evaluation_due() ? 1 : 0)) / steps_per_epoch();
  const bool ended_within = done() && progress_.step % steps_per_epoch() != 0;
  return static_cast<int>(whole) + (ended_within ? 1 : 0);
}

bool EpochLoop::run_epoch() {
  requests_.begin_epoch(checkpointer_ != nullptr);
  const bool only_evaluates = evaluation_due();
  const std::uint64_t last = only_evaluates ? progress_.step - 1 : progress_.step;
  const std::uint64_t epoch = last / steps_per_epoch();  // from 0
  const std::uint64_t end =
      only_evaluates ? progress_.step : std::min((epoch + 1) * steps_per_epoch(), total_steps());
  const int number = static_cast<int>(epoch) + 1;
  StepTimes work;
  auto start = Clock::now();
  pass_over(end);
  while (progress_.step < end) {
    const auto times = run_steps_while(std::min(end - progress_.step, steps_to_boundary()),
                                       requests_.rounds_of_step(), [this] { return no_request_to_stop(); });
    if (!times) return carry_out(Request::stop);
    if (const auto cause = cause_of_rollback()) {
      roll_back(*cause);
      return true;
    }
    work.by_part = times->by_part;
    work.load += times->load;
    work.total += working_seconds(*times);
    report_steps(number, *times);
    const auto now = Clock::now();
    progress_.epoch.seconds += std::chrono::duration<double>(now - std::exchange(start, now)).count();
    report_digest();
    if (const std::uint64_t every = run_.options.check_replicas_every;
        every > 0 && progress_.step % every == 0 && progress_.step < end) {  // finish_epoch compares, too
      check_parameters();
    }
    if (progress_.step < end && !pass_boundary(Boundary::within_epoch)) return false;
  }
  if (!only_evaluates) check_epoch(number);
  if (!finish_epoch(number, work)) return carry_out(Request::stop);
  return pass_boundary(done() ? Boundary::end_of_run : Boundary::end_of_epoch);
}

std::uint64_t EpochLoop::steps_to_boundary() const {
  std::uint64_t steps = requests_.steps_to_boundary();
  if (checkpointer_ != nullptr) steps = std::min(steps, checkpointer_->steps_until_due(progress_.step));
  if (const std::uint64_t every = run_.options.digest_interval; every > 0) {
    steps = std::min(steps, every - progress_.step % every);
  }
  if (const std::uint64_t every = run_.options.check_replicas_every; every > 0) {
    steps = std::min(steps, every - progress_.step % every);
  }
  return steps;
}

std::optional<StepTimes> EpochLoop::run_steps_while(std::uint64_t max, std::uint64_t rounds,
                                                    const std::function<bool()>& goes_on) {
  const std::uint64_t position = progress_.step % steps_per_epoch();
  if (position == 0) progress_.epoch = {};
  if (position == 0 || !entry_) entry_ = {.visits = steps_.visits(), .position = position};
  const std::optional<StepTimes> times = steps_.run_while(
      progress_.step, std::min({max, std::uint64_t{steps_.at_once()}, steps_per_epoch() - position}), rounds,
      goes_on);
  if (!times) {
    entry_.reset();  // its samples are visited again
    return std::nullopt;
  }
  requests_.add(*times);
  const std::span<const StepOutcome> outcomes = steps_.outcomes();
  EpochTotals& totals = progress_.epoch;
  std::uint64_t computed = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const StepOutcome& outcome = outcomes[i];
    computed += outcome.samples;
    if (!is_finite(outcome)) {
      ++totals.skipped_steps;
      stop_or_skip(steps_.not_finite(i));
      continue;
    }
    progress_.skipped_in_row = 0;
    totals.loss += outcome.loss;
    totals.correct += outcome.correct;
    totals.samples += outcome.samples;
  }
  totals.skipped += times->samples - computed;
  progress_.step += static_cast<std::uint64_t>(times->steps);
  return times;
}

void EpochLoop::stop_or_skip(const NotFiniteReport& report) {
  if (report.handling == OnNan::rollback) return;
  if (observers_.on_not_finite) observers_.on_not_finite(report);
  if (report.handling == OnNan::skip && ++progress_.skipped_in_row < max_skipped_in_row) return;
  if (report.handling == OnNan::stop) {
    steps_.check_finite(report.loss, "loss", report.step);
    steps_.check_finite(report.gradient_norm, "norm of the gradient", report.step);
  }
  session_.world().agree([&] {  // all ranks know it, one prints it
    throw Error(Category::data,
                fmt::format("{} steps in a row, up to step {}, were skipped, as the loss or the norm of the "
                            "gradient was not finite: try a smaller learning rate",
                            progress_.skipped_in_row, report.step));
  });
}

std::optional<NotFiniteReport> EpochLoop::cause_of_rollback() const {
  if (run_.options.on_nan != OnNan::rollback) return std::nullopt;
  const std::span<const StepOutcome> outcomes = steps_.outcomes();
  const auto first = std::ranges::find_if_not(outcomes, is_finite);
  if (first == outcomes.end()) return std::nullopt;
  return steps_.not_finite(static_cast<std::size_t>(first - outcomes.begin()));
}

void EpochLoop::roll_back(NotFiniteReport report) {
  const InStage in(watch_of(session_.world()), Stage::checkpoint);
  const int rollbacks = progress_.rollbacks + 1;
  try {
    session_.world().agree([&] {
      if (rollbacks <= max_rollbacks) return;
      throw Error(Category::data,
                  fmt::format("step {}: {}, after {} returns to a checkpoint without a whole epoch in "
                              "between: try a smaller learning rate",
                              report.step, report.what(), max_rollbacks));
    });
    report.remark = checkpointer_->roll_back(report.step, report.what());
  } catch (const Error&) {
    report.handling = OnNan::stop;
    if (observers_.on_not_finite) observers_.on_not_finite(report);
    throw;
  }
  check_replicas();
  report.back_to_step = progress_.step;
  report.back_to_epoch = epochs();
  progress_.rollbacks = rollbacks;
  progress_.pass_until = report.step;
  entry_.reset();
  session_.world().agree([&] {
    if (observers_.on_not_finite) observers_.on_not_finite(report);
  });
}

void EpochLoop::pass_over(std::uint64_t end) {
  const std::uint64_t to = std::min(end, progress_.pass_until);
  if (progress_.step >= to) return;
  const std::uint64_t position = progress_.step % steps_per_epoch();
  if (position == 0) progress_.epoch = {};
  progress_.epoch.skipped_steps += to - progress_.step;
  entry_ = {.visits = steps_.visits(), .position = position + to - progress_.step};
  progress_.step = to;
}

bool EpochLoop::pass_boundary(Boundary boundary) {
  const bool due = checkpointer_ != nullptr && checkpointer_->is_due(boundary);
  return carry_out(requests_.exchange(progress_.step, due ? Request::checkpoint : Request::none));
}

bool EpochLoop::carry_out(Request request) {
  if (request == Request::none) return true;
  const InStage in(watch_of(session_.world()), Stage::checkpoint);
  session_.world().agree([&] {
    if (observers_.act) observers_.act(request);
  });
  if (checkpointer_ != nullptr) {
    check_parameters();  // so that a run can go on from any checkpoint
    checkpointer_->begin();
    if (request == Request::stop) checkpointer_->finish();
  }
  return request != Request::stop;
}

void EpochLoop::check_parameters() const {
  if (session_.world().size() > 1) check_same_parameters(session_, progress_.step, state_.parameter_hash());
}

void EpochLoop::report_digest() const {
  const std::uint64_t every = run_.options.digest_interval;
  if (every == 0 || progress_.step % every != 0 || !observers_.on_digest) return;
  observers_.on_digest({.step = progress_.step, .digest = state_.digest()});
}

Evaluation EpochLoop::train_evaluation() const {
  const EpochTotals& totals = progress_.epoch;
  Evaluation train =
      evaluation_of({.loss = totals.loss, .correct = totals.correct, .samples = totals.samples});
  train.skipped = totals.skipped;
  return train;
}

void EpochLoop::check_epoch(int epoch) const {
  if (progress_.epoch.skipped_steps == 0 || progress_.epoch.samples > 0) {
    check_read(session_.world(), train_evaluation(), fmt::format("training samples of epoch {}", epoch));
  }
  if (progress_.step % steps_per_epoch() == 0) {
    check_visits(session_, run_, static_cast<std::uint32_t>(epoch - 1), entry_->position, entry_->visits,
                 steps_.visits());
  }
}

bool EpochLoop::goes_back(int epoch, const std::string& value) {
  if (run_.options.on_nan != OnNan::rollback || checkpointer_ == nullptr) return false;
  roll_back({.epoch = epoch, .step = progress_.step, .value = value, .handling = OnNan::rollback});
  return true;
}

bool EpochLoop::goes_back_for_parameters(int epoch) {
  const std::string name = state_.not_finite();
  if (name.empty()) return false;
  const NotFiniteReport report{
      .epoch = epoch, .step = progress_.step, .value = fmt::format("the parameter '{}'", name)};
  if (goes_back(epoch, report.value)) return true;
  session_.world().agree([&] {
    if (observers_.on_not_finite) observers_.on_not_finite(report);
    throw Error(Category::data,
                fmt::format("at the end of epoch {} (step {}), {}: try a smaller learning rate, or limit the "
                            "norm of the gradient (clip-grad)",
                            epoch, report.step, report.what()));
  });
  return false;
}

bool EpochLoop::finish_epoch(int epoch, const StepTimes& work) {
  const World& world = session_.world();
  Watch& watch = watch_of(world);
  watch.set_stage(Stage::evaluation);
  const EpochTotals& totals = progress_.epoch;
  steps_.gather_averages();
  check_replicas();
  if (goes_back_for_parameters(epoch)) return true;
  const auto goes_on = [this] { return no_request_to_stop(); };
  const std::optional<Evaluation> test = evaluator_.run_while(goes_on);
  if (!test) return false;
  const std::optional<Evaluation> validation =
      validator_ == nullptr ? std::nullopt : validator_->run_while(goes_on);
  if (validator_ != nullptr && !validation) return false;
  EpochReport report{.epoch = epoch,
                     .epochs = run_.options.epochs,
                     .train = train_evaluation(),
                     .test = *test,
                     .validation = validation,
                     .steps = progress_.step - static_cast<std::uint64_t>(epoch - 1) * steps_per_epoch(),
                     .skipped_steps = totals.skipped_steps,
                     .seconds = totals.seconds,
                     .load_seconds = work.load,
                     .load_share = work.total > 0.0 ? work.load / work.total : 0.0,
                     .load_is_waiting = !work.by_part};
  steps_.bad_samples().share(world);
  evaluator_.bad_samples().share(world);
  check_read(world, report.test, "test samples");
  if (!std::isfinite(report.test.loss) && goes_back(epoch, "the test loss")) return true;
  steps_.check_finite(report.test.loss, "test loss", progress_.step);
  if (report.validation) {
    check_read(world, *report.validation, "validation samples");
    if (!std::isfinite(report.validation->loss) && goes_back(epoch, "the validation loss")) return true;
    steps_.check_finite(report.validation->loss, "validation loss", progress_.step);
  }
  const double accuracy = report.judged().accuracy;
  report.best = progress_.best.epoch == 0 || accuracy > progress_.best.accuracy;
  if (report.best) progress_.best = {.epoch = epoch, .accuracy = accuracy};
  progress_.evaluated = progress_.step;
  if (totals.skipped_steps == 0 && progress_.step % steps_per_epoch() == 0) progress_.rollbacks = 0;
  watch.set_stage(Stage::report);
  if (observers_.on_epoch) {
    report.digest = state_.digest();
    observers_.on_epoch(report);
  }
  return true;
}

void EpochLoop::report_steps(int epoch, const StepTimes& times) const {
  if (!observers_.on_step) return;
  const std::span<const StepOutcome> outcomes = steps_.outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Evaluation means = evaluation_of(outcomes[i]);
    const StepInput& input = steps_.inputs()[i];
    observers_.on_step({.epoch = epoch,
                        .epochs = run_.options.epochs,
                        .step = input.number,
                        .steps = total_steps(),
                        .samples = means.samples,
                        .loss = means.loss,
                        .learning_rate = input.learning_rate,
                        .seconds = times.total / static_cast<double>(outcomes.size())});
  }
}

}  // namespace lockstep
