#include "train/training_steps.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/agreed.h"

namespace lockstep {
namespace {

void add_phases(StepTimes& times, const PhaseSeconds& seconds) {
  times.load += seconds[Phase::load];
  times.forward += seconds[Phase::forward];
  times.backward += seconds[Phase::backward];
  times.fold += seconds[Phase::fold];
  times.reduce += seconds[Phase::reduce];
  times.update += seconds[Phase::update];
}

}  // namespace

TrainingSteps::TrainingSteps(const TrainingStepsOptions& options)
    : options_(options), whole_epoch_(coming_from(0)) {}

std::vector<std::vector<SampleRange>> TrainingSteps::coming_from(std::uint64_t position) const {
  const StepContext& context = options_.context;
  return coming_samples(options_.loader, options_.epoch, position, [&](std::uint32_t leaves) {
    return assign_leaves(leaves, context.communicator, context.backend.device(), context.rank_weights);
  });
}

/// Orders the samples of the epoch that follows `step` steps, and tells the runners which of them come.
void TrainingSteps::prepare(std::uint64_t step) {
  const std::uint64_t position = step % options_.epoch.steps;
  options_.loader.shuffle(options_.seed, static_cast<std::uint32_t>(step / options_.epoch.steps));
  const auto rest = position == 0 ? std::vector<std::vector<SampleRange>>() : coming_from(position);
  const auto& coming = position == 0 ? whole_epoch_ : rest;
  for (std::size_t e = 0; e < coming.size(); ++e) options_.context.runners[e]->expect(coming[e]);
}

StepTimes TrainingSteps::run(std::uint64_t step, std::uint64_t count) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (step % options_.epoch.steps == 0 || step != prepared_for_) prepare(step);
  const double waited_before = waited();
  StepTimes times;
  inputs_.clear();
  for (std::uint64_t i = 0; i < count; ++i) inputs_.push_back(input_of(step + i + 1));
  options_.context.table.begin(inputs_);
  for (const StepInput& input : inputs_) {
    options_.loader.set_step(input.first, input.samples);
    StepProgram& program = program_for(input.samples);
    program.run();
    const auto phases = program.phases();
    times.by_part = phases.has_value();
    if (phases) add_phases(times, *phases);
    times.samples += input.samples;
  }
  outcomes_ = options_.context.table.fetch(count);
  for (std::size_t i = 0; i < count; ++i) {
    check_finite(outcomes_[i].loss, "loss", inputs_[i].number);
    check_finite(outcomes_[i].gradient_norm, "norm of the gradient", inputs_[i].number);
  }
  if (!times.by_part) times.load = waited() - waited_before;
  prepared_for_ = step + count;
  times.steps = static_cast<int>(count);
  times.total = std::chrono::duration<double>(Clock::now() - start).count();
  return times;
}

double TrainingSteps::waited() const {
  double seconds = 0.0;
  for (const auto& runner : options_.context.runners) seconds += runner->waited();
  return seconds;
}

/// `number`: of the step in the run, from 1.
StepInput TrainingSteps::input_of(std::uint64_t number) const {
  const std::uint64_t position = (number - 1) % options_.epoch.steps;
  return {.number = number,
          .first = position * options_.epoch.batch,
          .samples = options_.epoch.samples_at(position),
          .epoch = options_.loader.epoch(),
          .learning_rate = options_.learning_rate.at(number)};
}

StepProgram& TrainingSteps::program_for(std::uint64_t samples) {
  for (const auto& [count, program] : programs_) {
    if (count == samples) return *program;
  }
  programs_.emplace_back(samples, agreed(options_.world, [&] {
                           return std::make_unique<StepProgram>(options_.context, arenas_,
                                                                options_.loader.leaves(samples));
                         }));
  return *programs_.back().second;
}

VisitSum TrainingSteps::visits() const {
  VisitSum sum;
  for (const auto& runner : options_.context.runners) sum.add(runner->visits());
  return sum;
}

/// Steps change each rank's slice of the averages only.
void TrainingSteps::gather_averages() {
  if (!options_.averages) return;
  if (!averages_program_) {
    Stream& stream = *options_.context.backend.device().streams()[0];
    averages_program_ = options_.context.backend.device().record(
        [this, &stream] { options_.context.updater.record_averages(stream); });
  }
  averages_program_->run();
}

void TrainingSteps::check_finite(double value, const char* name, std::uint64_t step) const {
  if (std::isfinite(value)) return;
  options_.world.agree([&] {  // every rank knows, one prints
    throw Error(Category::data,
                fmt::format("the {} became {} at step {} with learning rate {}: try a smaller learning rate",
                            name, std::fabs(value), step, options_.learning_rate.at(step)));
  });
}

}  // namespace lockstep
