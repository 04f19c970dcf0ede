#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/elementary.h"
#include "core/options/check.h"
#include "lockstep/error.h"
#include "lockstep/schedule.h"

namespace lockstep {
namespace {

/// Position of a step in a run.
struct Position {
  double epoch;   ///< from 0
  double done;    ///< completed share of the steps after the warm-up, in [0, 1]
  double warmup;  ///< share of all steps that is warm-up
};

/// Rounds down, but tolerates rounding errors just below a whole number: 0.29 epochs of 100 steps are 29
/// steps, and 33 epochs are 30 times 1.1 epochs.
double rounded_down(double number) { return std::floor(number + 1e-6); }

// Each schedule computes the learning rate's share of the way from min_lr to the base rate, in [0, 1].
// Schedules are named after those of torch.optim.lr_scheduler.

double constant(const ScheduleOptions& /*options*/, const Position& /*position*/) { return 1.0; }

/// StepLR(step_size = decay_epochs, gamma = decay_rate), stepped once per epoch.
double step_decay(const ScheduleOptions& options, const Position& position) {
  const double decays = rounded_down(position.epoch / options.decay_epochs);
  return integer_power(options.decay_rate, static_cast<std::uint64_t>(decays));
}

/// MultiStepLR(decay_milestones, gamma = decay_rate), stepped once per epoch.
double multi_step_decay(const ScheduleOptions& options, const Position& position) {
  const auto& milestones = options.decay_milestones;
  const auto passed = std::upper_bound(milestones.begin(), milestones.end(), position.epoch);
  return integer_power(options.decay_rate, static_cast<std::uint64_t>(passed - milestones.begin()));
}

/// CosineAnnealingLR over the steps after the warm-up, like timm's `cosine`.
double cosine_decay(const ScheduleOptions& /*options*/, const Position& position) {
  return 0.5 * (1.0 + cosine_of_degrees(180.0 * position.done));
}

/// PolynomialLR(power) over the steps after the warm-up; power 1 is linear.
double polynomial_decay(const ScheduleOptions& options, const Position& position) {
  return integer_power(1.0 - position.done, options.power);
}

/// OneCycleLR with its defaults: rises along a cosine from a 25th of the base rate to the base rate during
/// the warm-up, then falls along a cosine to a 10,000th of the first rate.
double one_cycle(const ScheduleOptions& /*options*/, const Position& position) {
  constexpr double first = 1.0 / 25.0, last = first / 1e4;
  const auto along = [](double from, double to, double share) {
    return to + (from - to) * 0.5 * (1.0 + cosine_of_degrees(180.0 * share));
  };
  const double rise = position.warmup;
  return position.done < rise ? along(first, 1.0, position.done / rise)
                              : along(1.0, last, (position.done - rise) / (1.0 - rise));
}

struct Schedule {
  double (*factor)(const ScheduleOptions&, const Position&);
  bool includes_warmup = false;  ///< whether `factor` describes the warm-up, too
};

const std::map<std::string, Schedule>& schedules() {
  static const std::map<std::string, Schedule> known = {
      {"constant", {constant}},        {"cosine", {cosine_decay}},         {"multistep", {multi_step_decay}},
      {"onecycle", {one_cycle, true}}, {"polynomial", {polynomial_decay}}, {"step", {step_decay}},
  };
  return known;
}

void check(const ScheduleOptions& options, double base, std::uint64_t steps_per_epoch, int epochs) {
  check_fields(options);
  if (!std::isfinite(base) || base < 0.0) {
    throw Error(Category::usage,
                fmt::format("{} is not a learning rate: give a finite number of at least 0", base), "lr");
  }
  if (steps_per_epoch == 0) throw Error(Category::usage, "0 steps per epoch: give at least 1");
  if (epochs < 0) {
    throw Error(Category::usage, fmt::format("{} is not a number of epochs: give at least 0", epochs),
                "epochs");
  }
  if (options.warmup_epochs == by_data<double>) {
    throw Error(Category::usage, "auto is for training: give a number", "warmup-epochs");
  }
  if (epochs > 0 && options.warmup_epochs >= epochs) {
    throw Error(Category::usage,
                fmt::format("{} is not less than the number of epochs, {}", options.warmup_epochs, epochs),
                "warmup-epochs");
  }
  const auto largest = static_cast<float>(base);  // steps use the base rate rounded to float
  if (static_cast<float>(options.min_lr) > largest) {
    throw Error(Category::usage, fmt::format("{} is more than the learning rate {}", options.min_lr, largest),
                "min-lr");
  }
  if (!std::ranges::is_sorted(options.decay_milestones)) {
    throw Error(Category::usage, "the milestones must ascend", "decay-milestones");
  }
  if (options.name == "multistep" && options.decay_milestones.empty()) {
    throw Error(Category::usage, "sched multistep needs milestones", "decay-milestones");
  }
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& [name, schedule] : schedules()) names.push_back(name);
  return names;
}

LearningRate::LearningRate(const ScheduleOptions& options, double base, std::uint64_t steps_per_epoch,
                           int epochs)
    : options_(options),
      base_(base),
      steps_per_epoch_(static_cast<double>(steps_per_epoch)),
      warmup_steps_(rounded_down(options.warmup_epochs * steps_per_epoch_)),
      steps_(std::max(1.0, static_cast<double>(epochs) * steps_per_epoch_)) {
  check(options, base, steps_per_epoch, epochs);
  if (options_.name == "onecycle" && options_.warmup_epochs == 0.0) warmup_steps_ = 0.3 * steps_;
}

/// Step n of a warm-up of w steps has n / w of the base rate, so that no step has rate 0.
float LearningRate::at(std::uint64_t step) const {
  const Schedule& schedule = schedules().at(options_.name);
  const double before =
      std::min(static_cast<double>(step) - 1.0, steps_ - 1.0);  // steps done before this one
  double first = 0.0;
  if (!schedule.includes_warmup) {
    if (before < warmup_steps_) return static_cast<float>(base_ * (before + 1.0) / warmup_steps_);
    first = warmup_steps_;
  }
  // onecycle reaches its final rate at the last step, the other schedules one step after it, as in PyTorch.
  const double length =
      schedule.includes_warmup ? std::max(1.0, steps_ - 1.0) : std::max(1.0, steps_ - first);
  const double rise = schedule.includes_warmup ? std::max(0.0, warmup_steps_ - 1.0) / length : 0.0;
  const double factor =
      schedule.factor(options_, {std::floor(before / steps_per_epoch_), (before - first) / length, rise});
  return static_cast<float>(options_.min_lr + (base_ - options_.min_lr) * factor);
}

}  // namespace lockstep
