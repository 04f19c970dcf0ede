#include "optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "core/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct Rule {
  double (*factor)(const ScheduleOptions&, const SchedulePosition&);
  std::vector<std::string_view> used = {};  ///< options, of those that not all rules have
  bool rises_itself = false;                ///< the warm-up is part of the rule
};

const std::map<std::string, Rule>& schedules() {
  static const std::map<std::string, Rule> rules = {
      {"constant", {[](const ScheduleOptions&, const SchedulePosition&) { return 1.0; }}},
      {"cosine", {cosine_decay, {"--min-lr"}}},
      {"multistep", {multi_step_decay, {"--min-lr", "--decay-milestones", "--decay-rate"}}},
      {"onecycle", {one_cycle, {"--min-lr"}, true}},
      {"polynomial", {polynomial_decay, {"--min-lr", "--sched-power"}}},
      {"step", {step_decay, {"--min-lr", "--decay-epochs", "--decay-rate"}}},
  };
  return rules;
}

[[noreturn]] void refuse_schedule(const std::string& message) { throw Error(Category::usage, message); }

/// Refuses options that belong to other rules.
void check_schedule_use(const ScheduleOptions& options, const std::vector<std::string_view>& used) {
  const ScheduleOptions defaults;
  const struct {
    std::string_view name;
    bool given;
  } rows[] = {
      {"--min-lr", options.min_lr != defaults.min_lr},
      {"--decay-epochs", options.decay_epochs != defaults.decay_epochs},
      {"--decay-milestones", options.decay_milestones != defaults.decay_milestones},
      {"--decay-rate", options.decay_rate != defaults.decay_rate},
      {"--sched-power", options.power != defaults.power},
  };
  for (const auto& [name, given] : rows) {
    if (given && std::find(used.begin(), used.end(), name) == used.end()) {
      refuse_schedule(fmt::format("--sched {} has no use for {}: leave it out", options.name, name));
    }
  }
}

void check(const ScheduleOptions& options, double base, int epochs) {
  if (!schedules().contains(options.name)) {
    refuse_schedule(unknown_name("schedule", options.name, schedule_names()));
  }
  check_schedule_use(options, schedules().at(options.name).used);
  if (!(options.warmup_epochs >= 0.0) || (epochs > 0 && options.warmup_epochs >= epochs)) {
    refuse_schedule(
        fmt::format("--warmup-epochs {} does not fit into {} epochs", options.warmup_epochs, epochs));
  }
  const auto largest = static_cast<float>(base);  // which may have been rounded to one
  if (!(options.min_lr >= 0.0 && static_cast<float>(options.min_lr) <= largest)) {
    refuse_schedule(
        fmt::format("--min-lr {} is not between 0 and the learning rate {}", options.min_lr, largest));
  }
  if (!(options.decay_epochs >= 1e-3)) {
    refuse_schedule(fmt::format("--decay-epochs must be at least 0.001, not {}", options.decay_epochs));
  }
  if (!(options.decay_rate > 0.0 && options.decay_rate <= 1.0)) {
    refuse_schedule(fmt::format("--decay-rate must be above 0 and at most 1, not {}", options.decay_rate));
  }
  const auto& milestones = options.decay_milestones;
  if (!std::is_sorted(milestones.begin(), milestones.end()))
    refuse_schedule("--decay-milestones must ascend");
  if (options.name == "multistep" && milestones.empty())
    refuse_schedule("--sched multistep needs --decay-milestones");
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
