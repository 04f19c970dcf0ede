#include "train/loop/epoch_in_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "comm/world/watch_of.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/evaluator.h"
#include "train/step/outcome.h"

namespace lockstep {
namespace {

/// Working seconds of this rank's executors; the total time if the times of the parts are unknown.
double working_seconds(const StepTimes& times) {
  return times.by_part ? times.load + times.forward + times.backward + times.fold : times.total;
}

/// Sum of `own` over all ranks. Collective.
VisitSum sum_over_ranks(const Session& session, const VisitSum& own) {
  VisitSum sum;
  for (const auto& words : all_gather(session.between_hosts(), own.words())) {
    sum.add(VisitSum::from_words(words));
  }
  return sum;
}

}  // namespace

void EpochInProgress::enter() {
  const std::uint64_t position = progress().step % parts_.run.epoch.steps;
  if (position == 0) {
    progress().epoch = {};
    work_ = {};
  }
  if (position == 0 || !entry_) enter_at(progress().step);
}

/// Enters the epoch that begins or is in progress after `step` steps of the run.
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

Permutation EpochInProgress::order() const {
  return {parts_.run.epoch.samples, parts_.run.options.seed,
          static_cast<std::uint32_t>(parts_.position().epoch() - 1)};
}

VisitSum EpochInProgress::epoch_contents() const {
  VisitSum sum = sum_over_ranks(parts_.session, parts_.steps.contents().since(entry_->contents));
  sum.add(*entry_->epoch_contents);
  return sum;
}

/// Each rank reads its share of the files. As in steps, files that cannot be read do not count.
VisitSum EpochInProgress::contents_of_left_out(std::uint64_t position, std::uint64_t steps) const {
  const EpochSteps& epoch = parts_.run.epoch;
  const Dataset& train = parts_.run.train;
  const std::uint64_t first = std::min(position * epoch.batch, epoch.samples);
  const std::uint64_t end = std::min((position + steps) * epoch.batch, epoch.samples);
  if (first == end || train.encoding() != Encoding::image_file) return {};
  const World& world = parts_.session.world();
  const InStage in(watch_of(world), Stage::report);
  const Permutation id_at = order();
  VisitSum own;
  world.agree([&] {
    std::vector<std::uint8_t> buffer;
    const auto ranks = static_cast<std::uint64_t>(world.size());
    for (auto i = first + static_cast<std::uint64_t>(world.rank()); i < end; i += ranks) {
      const std::uint64_t id = id_at(i);
      try {
        own.add(id, train.sample(id, buffer));
      } catch (const Error& error) {
        if (error.category() != Category::data) throw;
      }
    }
  });
  return sum_over_ranks(parts_.session, own);
}

void EpochInProgress::store_contents() {
  if (parts_.run.train.encoding() != Encoding::image_file || !entry_ || !entry_->epoch_contents) return;
  progress().partial_contents = epoch_contents().words();
  progress().partial_step = progress().step;
}

void EpochInProgress::add(const StepTimes& times) {
  EpochTotals& totals = progress().epoch;
  totals.seconds += times.total;
  totals.skipped += times.samples;
  for (const StepOutcome& outcome : parts_.steps.outcomes()) {
    totals.skipped -= outcome.samples;
    if (!is_finite(outcome)) {
      ++totals.skipped_steps;
      continue;
    }
    totals.sums += outcome;
  }
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
  if (evaluation.samples == 0) {  // evaluation_of returns 0 in this case
    for (const Metric& metric : metrics_of(evaluation.task)) {
      evaluation.*metric.value = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return evaluation;
}

void EpochInProgress::check() const {
  const EpochTotals& totals = progress().epoch;
  if (totals.skipped_steps == 0 || totals.sums.samples > 0) {
    check_read(parts_.session.world(), training(),
               fmt::format("training samples of epoch {}", parts_.position().epoch()));
  }
  if (!parts_.position().whole_epochs()) return;
  check_visits();
  if (entry_->epoch_contents) check_contents();
}

void EpochInProgress::check_visits() const {
  const auto& [steps, batch, samples] = parts_.run.epoch;
  const Permutation id_at = order();
  VisitSum visited = sum_over_ranks(parts_.session, parts_.steps.visits());  // plus those left out, below
  const std::uint64_t first = std::min(entry_->position * batch, samples);
  for (std::uint64_t position = 0; position < first; ++position) visited.add(id_at(position));
  for (std::uint64_t position = steps * batch; position < samples; ++position) visited.add(id_at(position));
  VisitSum expected = sum_over_ranks(parts_.session, entry_->visits);
  expected.add(VisitSum::expected(samples));
  parts_.session.world().agree([&] {
    if (visited != expected) {
      throw Error(Category::internal, "the samples of an epoch were not each visited exactly once");
    }
  });
}

void EpochInProgress::check_contents() const {
  VisitSum read = epoch_contents();
  read.add(contents_of_left_out(parts_.run.epoch.steps, 1));  // the smaller last batch, which drop_last skips
  std::array<std::uint64_t, 2>& known = progress().contents;
  if (known == std::array<std::uint64_t, 2>{}) known = read.words();
  parts_.session.world().agree([&] {
    if (read.words() == known) return;
    throw Error(Category::data,
                fmt::format("epoch {} has read other bytes than earlier epochs: training files were changed "
                            "during the run, or differ between hosts",
                            parts_.position().epoch()));
  });
}

EpochReport EpochInProgress::report() const {
  const RunPosition position = parts_.position();
  const Evaluation train = training();
  const double seconds = progress().epoch.seconds;
  return {.epoch = position.epoch(),
          .epochs = parts_.run.options.epochs,
          .train = train,
          .test = {},
          .steps = progress().step - position.epoch_begin(),
          .skipped_steps = progress().epoch.skipped_steps,
          .seconds = seconds,
          .images_per_second = train.samples > 0 ? static_cast<double>(train.samples) / seconds : 0.0,
          .load_seconds = work_.load,
          .load_share = work_.total > 0.0 ? work_.load / work_.total : 0.0,
          .load_is_waiting = !work_.by_part};
}

}  // namespace lockstep
