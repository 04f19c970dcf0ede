#include "train/training_steps.h"

#include <fmt/format.h>

#include <cmath>

#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/agreed.h"
#include "train/lap.h"

namespace lockstep {
namespace {

/// Of its last run.
void add_parts(StepTimes& times, const StepProgram& program) {
  times.fold += program.fold_seconds();
  times.reduce += program.reduce_seconds();
  times.update += program.update_seconds();
}

}  // namespace

StepTimes TrainingSteps::run(std::uint64_t position, std::uint64_t count) {
  auto start = std::chrono::steady_clock::now();
  StepTimes times{.by_part = options_.context.backend.times_parts()};
  for (const auto& runner : options_.context.runners) runner->seconds = {};
  inputs_.clear();
  for (std::uint64_t i = 0; i < count; ++i) inputs_.push_back(input_of(count_ + i + 1, position + i));
  options_.context.table.begin(inputs_);
  for (const StepInput& input : inputs_) {
    options_.loader.set_step(input.first, input.samples);
    StepProgram& program = program_for(input.samples);
    program.run();
    ++count_;
    if (times.by_part) add_parts(times, program);
    times.samples += input.samples;
  }
  outcomes_ = options_.context.table.fetch(count);
  for (std::size_t i = 0; i < count; ++i) {
    check_finite(outcomes_[i].loss, "loss", inputs_[i].number);
    check_finite(outcomes_[i].gradient_norm, "norm of the gradient", inputs_[i].number);
  }
  for (const auto& runner : options_.context.runners) {
    times.load += runner->seconds.load;
    times.forward += runner->seconds.forward;
    times.backward += runner->seconds.backward;
  }
  times.steps = static_cast<int>(count);
  times.total = lap(start);
  return times;
}

StepInput TrainingSteps::input_of(std::uint64_t step, std::uint64_t position) const {
  return {.number = step,
          .first = position * options_.epoch.batch,
          .samples = options_.epoch.samples_at(position),
          .epoch = options_.loader.epoch(),
          .learning_rate = options_.learning_rate.at(step)};
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

void TrainingSteps::check_finite(double value, const char* name, std::uint64_t step) const {
  if (std::isfinite(value)) return;
  options_.world.agree([&] {  // every rank knows, one prints
    throw Error(Category::data,
                fmt::format("the {} became {} at step {} with learning rate {}: try a smaller learning rate",
                            name, std::fabs(value), step, options_.learning_rate.at(step)));
  });
}

}  // namespace lockstep
