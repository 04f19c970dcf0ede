#include "optim/schedules/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/options/check.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct Rule {
  double (*factor)(const ScheduleOptions&, const SchedulePosition&);
  bool rises_itself = false;  ///< the warm-up is part of the rule
};

const std::map<std::string, Rule>& schedules() {
  static const std::map<std::string, Rule> rules = {
      {"constant", {[](const ScheduleOptions&, const SchedulePosition&) { return 1.0; }}},
      {"cosine", {cosine_decay}},
      {"multistep", {multi_step_decay}},
      {"onecycle", {one_cycle, true}},
      {"polynomial", {polynomial_decay}},
      {"step", {step_decay}},
  };
  return rules;
}

void check(const ScheduleOptions& options, double base, int epochs) {
  check_fields(options);
  if (epochs > 0 && options.warmup_epochs >= epochs) {
    throw Error(Category::usage,
                fmt::format("{} epochs of warm-up do not fit into {} epochs", options.warmup_epochs, epochs),
                "warmup-epochs");
  }
  const auto largest = static_cast<float>(base);  // which may have been rounded to one
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

/// A warm-up that is a whole number of steps but for rounding is that number: 0.29 epochs of 100 steps
/// are 29.
double whole_steps(double steps) { return std::floor(steps + 1e-6); }

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : schedules()) names.push_back(name);
  return names;
}

LearningRate::LearningRate(const ScheduleOptions& options, double base, std::uint64_t steps_per_epoch,
                           int epochs)
    : options_(options),
      base_(base),
      steps_per_epoch_(static_cast<double>(steps_per_epoch)),
      warmup_steps_(whole_steps(options.warmup_epochs * steps_per_epoch_)),
      steps_(std::max(1.0, static_cast<double>(epochs) * steps_per_epoch_)) {
  check(options, base, epochs);
  if (options_.name == "onecycle" && warmup_steps_ == 0.0) warmup_steps_ = 0.3 * steps_;
}

/// Step n of a warm-up of w steps has n / w of the base rate, so that none is without effect.
float LearningRate::at(std::uint64_t step) const {
  const Rule& rule = schedules().at(options_.name);
  const double before =
      std::min(static_cast<double>(step) - 1.0, steps_ - 1.0);  // steps done before this one
  double first = 0.0;
  if (!rule.rises_itself) {
    if (before < warmup_steps_) return static_cast<float>(base_ * (before + 1.0) / warmup_steps_);
    first = warmup_steps_;
  }
  // The last step of one cycle is its end; the other rules end after the last step, as their namesakes do.
  const double length = rule.rises_itself ? std::max(1.0, steps_ - 1.0) : std::max(1.0, steps_ - first);
  const double rise = rule.rises_itself ? std::max(0.0, warmup_steps_ - 1.0) / length : 0.0;
  const double factor =
      rule.factor(options_, {std::floor(before / steps_per_epoch_), (before - first) / length, rise});
  return static_cast<float>(options_.min_lr + (base_ - options_.min_lr) * factor);
}

}  // namespace lockstep
