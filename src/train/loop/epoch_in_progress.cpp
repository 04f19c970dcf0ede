#include "train/loop/epoch_in_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "train/evaluator.h"
#include "train/loop/epoch_checks.h"
#include "train/step/outcome.h"

namespace lockstep {
namespace {

/// Working seconds of this rank's executors; the total time if it is not known by part.
double working_seconds(const StepTimes& times) {
  return times.by_part ? times.load + times.forward + times.backward + times.fold : times.total;
}

}  // namespace

void EpochInProgress::start_clock() {
  read_at_ = steady_seconds();
  work_ = {};
}

void EpochInProgress::enter() {
  const std::uint64_t position = progress().step % parts_.run.epoch.steps;
  if (position == 0) progress().epoch = {};
  if (position == 0 || !entry_) enter_at(progress().step);
}

/// `step`: number of steps made before it, in the epoch that begins or is in progress.
void EpochInProgress::enter_at(std::uint64_t step) {
  entry_ = {.visits = parts_.steps.visits(),
            .contents = parts_.steps.contents(),
            .position = step - progress().step / parts_.run.epoch.steps * parts_.run.epoch.steps};
  if (entry_->position == 0) {
    entry_->epoch_contents = VisitSum();
  } else if (progress().partial_step == step) {
    entry_->epoch_contents = VisitSum::from_words(progress().partial_contents);
  }
}

VisitSum EpochInProgress::epoch_contents() const {
  VisitSum sum = sum_over_ranks(parts_.session, parts_.steps.contents().since(entry_->contents));
  sum.add(*entry_->epoch_contents);
  return sum;
}

VisitSum EpochInProgress::contents_of_left_out(std::uint64_t position, std::uint64_t steps) const {
  const auto& [all, batch, samples] = parts_.run.epoch;
  const std::uint64_t first = std::min(position * batch, samples);
  const std::uint64_t end = std::min((position + steps) * batch, samples);
  return contents_of(parts_.session, parts_.run, static_cast<std::uint32_t>(parts_.position().epoch() - 1),
                     {first, end - first});
}

void EpochInProgress::store_contents() {
  if (parts_.run.train.encoding() != Encoding::image_file || !entry_ || !entry_->epoch_contents) return;
  progress().partial_contents = epoch_contents().words();
  progress().partial_step = progress().step;
}

void EpochInProgress::add(const StepTimes& times) {
  EpochTotals& totals = progress().epoch;
  totals.skipped += times.samples;
  for (const StepOutcome& outcome : parts_.steps.outcomes()) {
    totals.skipped -= outcome.samples;
    if (!is_finite(outcome)) {
      ++totals.skipped_steps;
      continue;
    }
    totals.sums += outcome;
  }
}

void EpochInProgress::read_clock(const StepTimes& times) {
  const double now = steady_seconds();
  progress().epoch.seconds += now - std::exchange(read_at_, now);
  work_.by_part = times.by_part;
  work_.load += times.load;
  work_.total += working_seconds(times);
  step_seconds_ = times.total / times.steps;
}

void EpochInProgress::pass_over(std::uint64_t to) {
  if (progress().step >= to) return;
  enter();
  std::optional<VisitSum> contents = entry_->epoch_contents;
  if (contents) contents->add(contents_of_left_out(entry_->position, to - progress().step));
  progress().epoch.skipped_steps += to - progress().step;
  enter_at(to);
  entry_->epoch_contents = contents;
  progress().step = to;
}

Evaluation EpochInProgress::training() const {
  const EpochTotals& totals = progress().epoch;
  Evaluation evaluation = evaluation_of(totals.sums, parts_.run.train);
  evaluation.skipped = totals.skipped;
  if (evaluation.samples == 0) {  // no mean of nothing is 0
    for (const Metric& metric : metrics_of(evaluation.task)) {
      evaluation.*metric.value = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return evaluation;
}

void EpochInProgress::check() const {
  const auto& [session, run, steps, state, hooks, checkpointer] = parts_;
  const int epoch = parts_.position().epoch();
  const EpochTotals& totals = progress().epoch;
  if (totals.skipped_steps == 0 || totals.sums.samples > 0) {
    check_read(session.world(), training(), fmt::format("training samples of epoch {}", epoch));
  }
  if (!parts_.position().whole_epochs()) return;
  check_visits(session, run, static_cast<std::uint32_t>(epoch - 1), entry_->position, entry_->visits,
               steps.visits());
  if (entry_->epoch_contents) {
    VisitSum contents = epoch_contents();
    contents.add(
        contents_of_left_out(run.epoch.steps, 1));  // of a last, smaller batch, which drop_last skips
    check_contents(session, epoch, contents, progress().contents);
  }
}

EpochReport EpochInProgress::report() const {
  const RunPosition position = parts_.position();
  return {.epoch = position.epoch(),
          .epochs = parts_.run.options.epochs,
          .train = training(),
          .test = {},
          .steps = progress().step - position.epoch_begin(),
          .skipped_steps = progress().epoch.skipped_steps,
          .seconds = progress().epoch.seconds,
          .load_seconds = work_.load,
          .load_share = work_.total > 0.0 ? work_.load / work_.total : 0.0,
          .load_is_waiting = !work_.by_part};
}

}  // namespace lockstep
