#include "train/step/training_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/world/agreed.h"
#include "comm/world/watch_of.h"
#include "core/clock.h"
#include "lockstep/error.h"
#include "lockstep/sampler.h"
#include "lockstep/world.h"

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

TrainingSteps::TrainingSteps(const Session& session, const Run& run, CompiledGraph& graph,
                             const TrainingState& state)
    : session_(session),
      run_(run),
      learning_rate_(agreed(session.world(),
                            [&] {
                              return LearningRate(run.options.schedule, largest_learning_rate(run.options),
                                                  run.epoch.steps, run.options.epochs);
                            })),
      loader_(run.train, run.micro_batch(), run.options.input, run.options.augment, run.options.seed),
      table_(session.device(), session.placement().max_steps_at_once, run.options.on_nan == OnNan::stop),
      runners_(make_runners(session, graph, loader_, loader_.leaves(run.epoch.samples_at(0)), table_.log())),
      updater_(agreed(session.world(),
                      [&] {
                        return std::make_unique<Updater>(
                            session.backend(), session.owners(), run.network.parameters(), run.layout,
                            update_rule(run.options), state.updated(), table_.concluded());
                      })),
      shares_(session, loader_.leaves(run.epoch.samples_at(0)), runners_.size(), run.layout.elements),
      whole_epoch_(coming_from(0)),
      computing_(runners_.size()) {}

std::vector<std::vector<SampleRange>> TrainingSteps::coming_from(std::uint64_t first_step) const {
  std::vector<std::vector<SampleRange>> coming(runners_.size());
  Assignment assignment;
  for (std::uint64_t step = first_step; step < run_.epoch.steps; ++step) {
    const std::uint64_t first = step * run_.epoch.batch, samples = run_.epoch.samples_at(step);
    const std::uint32_t leaves = loader_.leaves(samples);
    if (leaves != assignment.leaves) assignment = shares_.assign(leaves);
    const auto position = [&](std::size_t boundary) {
      return std::min(std::uint64_t{assignment.executors[boundary]} * loader_.micro_batch(), samples);
    };
    for (std::size_t e = 0; e < coming.size(); ++e) {
      const std::uint64_t begin = position(e), end = position(e + 1);
      if (end > begin) coming[e].push_back({.first = first + begin, .samples = end - begin});
    }
  }
  return coming;
}

/// Sets the loader to the epoch of the next step, after `step` steps of the run, and announces the next
/// samples to the runners.
void TrainingSteps::prepare(std::uint64_t step) {
  const std::uint64_t position = step % run_.epoch.steps;
  loader_.start_epoch(static_cast<std::uint32_t>(step / run_.epoch.steps));
  const auto rest = position == 0 ? std::vector<std::vector<SampleRange>>() : coming_from(position);
  expect(position == 0 ? whole_epoch_ : rest);
}

void TrainingSteps::expect(const std::vector<std::vector<SampleRange>>& coming) {
  for (std::size_t e = 0; e < coming.size(); ++e) runners_[e]->expect(coming[e]);
}

std::optional<StepTimes> TrainingSteps::run_while(std::uint64_t step, std::uint64_t count,
                                                  std::uint64_t rounds,
                                                  const std::function<bool()>& should_continue) {
  const double start = steady_seconds();
  Watch& watch = watch_of(session_.world());
  watch.begin_steps(step + 1);
  if (step % run_.epoch.steps == 0 || step != prepared_for_) prepare(step);
  const double waited_before = waited();
  StepTimes times{.steps = static_cast<int>(count)};
  inputs_.clear();
  for (std::uint64_t i = 0; i < count; ++i) inputs_.push_back(input_of(step + i + 1));
  table_.begin(inputs_);
  for (const StepInput& input : inputs_) {
    loader_.set_step(input.first, input.samples);
    const double step_start = steady_seconds();
    const double processor_start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    StepProgram& program = program_for(input.samples, rounds);
    if (!program.run(should_continue)) {
      prepared_for_ = std::numeric_limits<std::uint64_t>::max();  // runners have already begun this step
      return std::nullopt;
    }
    const double seconds = steady_seconds() - step_start;
    const double processor = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - processor_start;
    if (measure(program, input.samples, seconds, processor, times)) change_shares(input.number);
  }
  outcomes_ = watch.during(Collective::device, Group::alone, 0, [&] { return table_.fetch(count); });
  watch.end_steps();
  prepared_for_ = step + count;
  if (!times.by_part) times.load = waited() - waited_before;
  times.total = steady_seconds() - start;
  return times;
}

/// Adds the times of a step. Returns whether shares changed.
bool TrainingSteps::measure(const StepProgram& program, std::uint64_t samples, double seconds,
                            double processor, StepTimes& times) {
  for (std::size_t e = 0; e < runners_.size(); ++e) {
    const auto phases = program.phases(e);
    times.by_part = phases.has_value();
    if (!phases) break;
    add_phases(times, *phases);
    computing_[e] = (*phases)[Phase::load] + (*phases)[Phase::forward] + (*phases)[Phase::backward];
  }
  times.samples += samples;
  const std::vector<std::uint32_t>& leaves = program.assignment().ranks;
  const auto samples_before = [&](std::size_t rank) {
    return std::min(samples, std::uint64_t{leaves[rank]} * run_.micro_batch());
  };
  const auto own = static_cast<std::size_t>(session_.world().rank());
  times.own_samples += samples_before(own + 1) - samples_before(own);
  return samples == run_.epoch.samples_at(0) && shares_.add(seconds, processor, computing_);
}

/// Deletes the programs recorded for the earlier shares, as memory suffices for only one set of programs.
/// Later steps record new ones. `step`: number of steps made.
void TrainingSteps::change_shares(std::uint64_t step) {
  programs_.clear();
  whole_epoch_ = coming_from(0);
  const std::uint64_t position = step % run_.epoch.steps;
  if (position > 0) expect(coming_from(position));
}

/// Input of step `number` of the run, from 1.
StepInput TrainingSteps::input_of(std::uint64_t number) const {
  const std::uint64_t position = (number - 1) % run_.epoch.steps;
  return {.number = number,
          .first = position * run_.epoch.batch,
          .samples = run_.epoch.samples_at(position),
          .epoch = loader_.rule().epoch,
          .learning_rate = learning_rate_.at(number)};
}

/// Program for a step of `samples` samples in `rounds` rounds. For each number of samples, only the program
/// for the last number of rounds is kept.
StepProgram& TrainingSteps::program_for(std::uint64_t samples, std::uint64_t rounds) {
  for (const auto& [count, program] : programs_) {
    if (count == samples && program->rounds() == rounds) return *program;
  }
  std::erase_if(programs_, [&](const auto& entry) { return entry.first == samples; });
  programs_.emplace_back(samples, agreed(session_.world(), [&] {
                           LeafPass pass(session_, runners_, shares_.assign(loader_.leaves(samples)));
                           StepGradients gradients(session_, run_.layout, pass.assignment(),
                                                   updater_->slices(), arenas_);
                           return std::make_unique<StepProgram>(
                               session_, std::move(pass), std::move(gradients), *updater_, table_, rounds);
                         }));
  return *programs_.back().second;
}

VisitSum TrainingSteps::visits() const {
  VisitSum sum;
  for (const auto& runner : runners_) sum.add(runner->visits());
  return sum;
}

VisitSum TrainingSteps::contents() const {
  VisitSum sum;
  for (const auto& runner : runners_) sum.add(runner->contents());
  return sum;
}

double TrainingSteps::waited() const {
  double seconds = 0.0;
  for (const auto& runner : runners_) seconds += runner->waited();
  return seconds;
}

/// Gathers the averages, as each rank updates only its own slice.
void TrainingSteps::gather_averages() {
  if (!run_.options.model_ema) return;
  if (!averages_program_) {
    Stream& stream = *session_.device().streams()[0];
    averages_program_ = session_.device().record([this, &stream] { updater_->record_averages(stream); });
  }
  averages_program_->run();
}

NotFiniteReport TrainingSteps::not_finite(std::size_t i) const {
  const StepInput& input = inputs_[i];
  NotFiniteReport report{.epoch = static_cast<int>(input.epoch) + 1,
                         .step = input.number,
                         .loss = outcomes_[i].loss,
                         .gradient_norm = outcomes_[i].gradient_norm,
                         .learning_rate = input.learning_rate,
                         .handling = run_.options.on_nan};
  const Permutation order(run_.epoch.samples, run_.options.seed, input.epoch);
  for (std::uint64_t k = 0; k < input.samples; ++k) report.samples.push_back(order(input.first + k));
  return report;
}

void TrainingSteps::check_finite(double value, const char* name, std::uint64_t step,
                                 std::uint64_t updates) const {
  if (std::isfinite(value)) return;
  session_.world().agree([&] {  // all ranks detect this error, but one prints it
    if (updates == 0) {
      throw Error(Category::data,
                  fmt::format("the {} became {} at step {}, before any update, so a smaller learning rate "
                              "does not help: check the samples, --mean and --std, and the initial "
                              "parameters",
                              name, std::fabs(value), step));
    }
    throw Error(Category::data,
                fmt::format("the {} became {} at step {} with learning rate {}: try a smaller learning rate",
                            name, std::fabs(value), step, learning_rate_.at(step)));
  });
}

}  // namespace lockstep
