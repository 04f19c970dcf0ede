#include "train/loop/epoch_loop.h"

#include "train/run_description.h"

namespace lockstep {
namespace {

bool continues(Next next) { return next != Next::stop; }

}  // namespace

EpochLoop::EpochLoop(const RunParts& parts, Evaluator& evaluator, Evaluator* validator)
    : parts_(parts), progress_(parts.state.progress), evaluator_(evaluator), validator_(validator) {}

bool EpochLoop::run_epoch() {
  requests_.begin_epoch();
  const bool only_evaluates = position().evaluation_due();
  const std::uint64_t end = position().epoch_end();
  epoch_.pass_over(std::min(end, progress_.pass_until));
  while (progress_.step < end) {
    const auto times = make_steps(std::min(end - progress_.step, steps_until_due()),
                                  requests_.rounds_of_step(), unless_stopped_);
    if (!times) return continues(requests_.carry_out(Request::stop));
    const Next next = act(progress_.step < end ? Boundary::within_epoch : Boundary::before_evaluation);
    if (next != Next::step) return continues(next);
  }
  if (!only_evaluates) epoch_.check();
  if (!evaluate()) return continues(requests_.carry_out(Request::stop));
  return continues(act(position().done() ? Boundary::end_of_run : Boundary::end_of_epoch));
}

std::uint64_t EpochLoop::steps_until_due() const {
  std::uint64_t steps = StepPolicy::never;
  for (const StepPolicy* policy : policies_) steps = std::min(steps, policy->steps_until_due(progress_.step));
  return steps;
}

Next EpochLoop::act(Boundary boundary) {
  for (StepPolicy* policy : policies_) {
    const Next next = policy->act(boundary);
    if (next != Next::step) return next;
  }
  return Next::step;
}

StepTimes EpochLoop::run_steps(std::uint64_t max) {
  const std::uint64_t together = parts_.session.placement().steps_at_once;
  const StepTimes times = *make_steps(std::min(max, together), 1, nullptr);
  progress_.evaluated = progress_.step;
  parts_.steps.gather_averages();
  return times;
}

std::optional<StepTimes> EpochLoop::make_steps(std::uint64_t max, std::uint64_t rounds,
                                               const std::function<bool()>& condition) {
  epoch_.enter();
  const std::uint64_t left = parts_.run.epoch.steps - progress_.step % parts_.run.epoch.steps;
  const std::optional<StepTimes> times = parts_.steps.run_while(
      progress_.step, std::min({max, std::uint64_t{parts_.steps.at_once()}, left}), rounds, condition);
  if (!times) {
    epoch_.leave();
    return std::nullopt;
  }
  requests_.add(*times);
  epoch_.add(*times);
  not_finite_.stop_or_skip();
  progress_.step += static_cast<std::uint64_t>(times->steps);
  return times;
}

bool EpochLoop::evaluate() {
  const World& world = parts_.session.world();
  Watch& watch = watch_of(world);
  watch.set_stage(Stage::evaluation);
  parts_.steps.gather_averages();
  replicas_.check_all();
  if (!not_finite_.accept_parameters()) return true;
  EpochReport report = epoch_.report();
  const std::optional<Evaluation> test = evaluator_.run_while(unless_stopped_);
  if (!test) return false;
  report.test = *test;
  if (validator_ != nullptr && !(report.validation = validator_->run_while(unless_stopped_))) return false;
  parts_.steps.bad_samples().share(world);
  evaluator_.bad_samples().share(world);
  if (!not_finite_.accept(report.test, "test")) return true;
  if (report.validation && !not_finite_.accept(*report.validation, "validation")) return true;

  const double score = report.judged().score();
  // Until a step counts, the model has its initial values, which are not a result of the run.
  report.best = report.train.samples > 0 && (progress_.best.epoch == 0 || score > progress_.best.score);
  // If the run is resumed with more steps, it must continue as if this evaluation within an epoch had not
  // happened.
  progress_.cut_best = {};
  BestEpoch& best = position().whole_epochs() ? progress_.best : progress_.cut_best;
  if (report.best) best = {.epoch = report.epoch, .score = score};
  progress_.evaluated = progress_.step;
  parts_.state.evaluation = results_of(report);
  if (report.skipped_steps == 0 && position().whole_epochs()) progress_.rollbacks = 0;
  watch.set_stage(Stage::report);
  if (parts_.hooks.on_event) {
    report.digest = parts_.state.digest();
    if (!report.judged().confusion.empty()) {
      parts_.hooks.on_event(ConfusionReport{.epoch = report.epoch,
                                            .classes = parts_.run.test.class_names(),
                                            .samples = report.judged().confusion});
    }
    parts_.hooks.on_event(report);
  }
  return true;
}

}  // namespace lockstep
