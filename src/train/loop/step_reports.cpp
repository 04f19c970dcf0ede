#include "train/loop/step_reports.h"

#include "train/step/outcome.h"

namespace lockstep {

Next StepReports::act(Boundary boundary) {
  if (!follows_steps(boundary) || !parts_.hooks.on_event) return Next::step;
  report_steps();
  report_digest();
  return Next::step;
}

void StepReports::report_steps() const {
  const InStage in(watch_of(parts_.session.world()), Stage::report);  // observers may wait for files
  const std::span<const StepOutcome> outcomes = parts_.steps.outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Evaluation means = evaluation_of(outcomes[i], parts_.run.train);
    const StepInput& input = parts_.steps.inputs()[i];
    parts_.hooks.on_event(StepReport{.epoch = static_cast<int>(input.epoch) + 1,
                                     .epochs = parts_.run.options.epochs,
                                     .step = input.number,
                                     .steps = parts_.position().total_steps(),
                                     .samples = means.samples,
                                     .loss = means.loss,
                                     .learning_rate = input.learning_rate,
                                     .gradient_norm = outcomes[i].gradient_norm,
                                     .seconds = epoch_.step_seconds()});
  }
}

void StepReports::report_digest() const {
  const std::uint64_t every = parts_.run.options.digest_interval, step = parts_.state.progress.step;
  if (every == 0 || step % every != 0) return;
  parts_.report(DigestReport{.step = step, .digest = parts_.state.digest()});
}

}  // namespace lockstep
