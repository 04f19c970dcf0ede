#include "train/loop/not_finite_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/evaluator.h"
#include "train/step/outcome.h"

namespace lockstep {
namespace {

/// Limits after which the run ends: steps skipped in a row, and rollbacks without a whole epoch in between.
constexpr int max_skipped_in_row = 10;
constexpr int max_rollbacks = 10;

}  // namespace

void NotFinitePolicy::stop_or_skip() {
  restored_step_.reset();
  const std::span<const StepOutcome> outcomes = parts_.steps.outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (is_finite(outcomes[i])) {
      parts_.state.progress.skipped_in_row = 0;
    } else if (handling() != OnNan::rollback) {
      stop_or_skip(parts_.steps.not_finite(i));
    }
  }
}

void NotFinitePolicy::stop_or_skip(NotFiniteReport report) {
  int& skipped_in_row = parts_.state.progress.skipped_in_row;
  if (handling() == OnNan::skip && ++skipped_in_row >= max_skipped_in_row) report.handling = OnNan::stop;
  parts_.report(report);
  if (report.handling == OnNan::skip) return;
  if (handling() == OnNan::stop) {
    const std::uint64_t updates = report.step - 1;
    parts_.steps.check_finite(report.loss, "loss", report.step, updates);
    parts_.steps.check_finite(report.gradient_norm, "norm of the gradient", report.step, updates);
  }
  parts_.session.world().agree([&] {  // all ranks detect this error, but one prints it
    throw Error(Category::data,
                fmt::format("{} steps in a row, up to step {}, were skipped, as the loss or the norm of the "
                            "gradient was not finite: try a smaller learning rate",
                            skipped_in_row, report.step));
  });
}

Next NotFinitePolicy::act(Boundary boundary) {
  if (!follows_steps(boundary) || handling() != OnNan::rollback) return Next::step;
  const std::span<const StepOutcome> outcomes = parts_.steps.outcomes();
  const auto first = std::ranges::find_if_not(outcomes, is_finite);
  if (first == outcomes.end()) return Next::step;
  roll_back(parts_.steps.not_finite(static_cast<std::size_t>(first - outcomes.begin())));
  return Next::other_step;
}

void NotFinitePolicy::roll_back(NotFiniteReport report) {
  const World& world = parts_.session.world();
  Progress& progress = parts_.state.progress;
  const InStage in(watch_of(world), Stage::checkpoint);
  const int rollbacks = progress.rollbacks + 1;
  report.handling = OnNan::rollback;
  try {
    world.agree([&] {
      if (rollbacks <= max_rollbacks) return;
      throw Error(Category::data,
                  fmt::format("step {}: {}, after {} returns to a checkpoint without a whole epoch in "
                              "between: try a smaller learning rate",
                              report.step, report.what(), max_rollbacks));
    });
    // If no step was made since the last rollback, the parameters of its checkpoint are at fault: an earlier
    // checkpoint is needed.
    report.remark = parts_.checkpointer->roll_back(restored_step_.value_or(report.step), report.what());
  } catch (const Error&) {
    report.handling = OnNan::stop;
    parts_.report(report);
    throw;
  }
  replicas_.check_all();
  restored_step_ = progress.step;
  report.back_to_step = progress.step;
  report.back_to_epoch = parts_.position().epochs();
  progress.rollbacks = rollbacks;
  progress.pass_until = report.step;
  epoch_.leave();
  world.agree([&] { parts_.report(report); });
}

bool NotFinitePolicy::accept_parameters() {
  const std::string name = parts_.state.not_finite();
  if (name.empty()) return true;
  const NotFiniteReport report{.epoch = parts_.position().epoch(),
                               .step = parts_.state.progress.step,
                               .value = fmt::format("the parameter '{}'", name)};
  if (handling() == OnNan::rollback) {
    roll_back(report);
    return false;
  }
  parts_.session.world().agree([&] {
    parts_.report(report);
    throw Error(Category::data,
                fmt::format("at the end of epoch {} (step {}), {}: try a smaller learning rate, or limit the "
                            "norm of the gradient (--clip-grad)",
                            report.epoch, report.step, report.what()));
  });
  return true;
}

bool NotFinitePolicy::accept(const Evaluation& evaluation, const std::string& data) {
  check_read(parts_.session.world(), evaluation, data + " samples");
  const std::string value = data + " loss";
  const std::uint64_t step = parts_.state.progress.step;
  if (!std::isfinite(evaluation.loss)) {
    const NotFiniteReport report{.epoch = parts_.position().epoch(), .step = step, .value = "the " + value};
    if (handling() == OnNan::rollback) {
      roll_back(report);
      return false;
    }
    parts_.report(report);
  }
  parts_.steps.check_finite(evaluation.loss, value.c_str(), step, step);
  return true;
}

void NotFinitePolicy::check_counted() const {
  const Progress& progress = parts_.state.progress;
  if (progress.step == 0 || progress.best.epoch > 0 || progress.epoch.sums.samples > 0) return;
  const NotFiniteReport report{
      .epoch = parts_.position().epochs(), .step = progress.step, .value = "a value of every step"};
  parts_.session.world().agree([&] {  // all ranks detect this error, but one prints it
    parts_.report(report);
    throw Error(Category::data,
                fmt::format("every step up to step {} was skipped or undone, as a loss or another value was "
                            "not finite, so the model has not changed: try a smaller learning rate",
                            report.step));
  });
}

}  // namespace lockstep
