#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/field.h"

namespace lockstep {

/// Schedule of the learning rate; `visit` describes the options. Numbers of epochs may be fractions, but
/// decays happen at whole epochs.
struct ScheduleOptions {
  std::string name = "constant";
  double warmup_epochs = 0.0;
  double min_lr = 0.0;
  double decay_epochs = 30.0;
  double decay_rate = 0.1;
  std::vector<double> decay_milestones = {};
  std::uint32_t power = 1;

  bool operator==(const ScheduleOptions&) const = default;
};

std::vector<std::string> schedule_names();

template <OptionsOf<ScheduleOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [name, warmup_epochs, min_lr, decay_epochs, decay_rate, decay_milestones, power] = options;
  field(name, {.name = "sched",
               .help = "schedule: how the learning rate changes over the run",
               .group = "Learning rate",
               .choices = schedule_names});
  field(warmup_epochs, {.name = "warmup-epochs",
                        .help = "epochs at the start over which the learning rate rises linearly to --lr; "
                                "onecycle: epochs of its rise, 0: 30 % of the run",
                        .by_data = "a twentieth of the epochs"});
  field(min_lr, {.name = "min-lr",
                 .help = "minimum learning rate, which the schedule approaches",
                 .needs = {{"sched", {"cosine", "multistep", "onecycle", "polynomial", "step"}}}});
  field(decay_epochs,
        {.name = "decay-epochs",
         .help = "epochs between two decays; a decay in mid-epoch waits for the end of the epoch",
         .range = {.min = 0.001},
         .needs = {{"sched", {"step"}}}});
  field(decay_milestones,
        {.name = "decay-milestones",
         .help = "epochs after which the learning rate is multiplied by --decay-rate; one in "
                 "mid-epoch waits for the end of the epoch",
         .needs = {{"sched", {"multistep"}}}});
  field(decay_rate, {.name = "decay-rate",
                     .help = "factor of each decay",
                     .range = {.above = 0, .max = 1},
                     .needs = {{"sched", {"multistep", "step"}}}});
  field(power, {.name = "sched-power",
                .help = "power of the polynomial",
                .range = {.min = 1, .max = 100},
                .needs = {{"sched", {"polynomial"}}}});
}

/// Learning rate of each step, a pure function of the step's number. Computed by IEEE additions,
/// multiplications and divisions only: the same bits on every machine.
class LearningRate {
 public:
  /// `base`: the largest rate of the run. Throws Error(usage) for an unknown name or impossible values.
  LearningRate(const ScheduleOptions& options, double base, std::uint64_t steps_per_epoch, int epochs);

  /// Rate of step `step`, counted from 1. Steps after the last one have the last one's rate.
  float at(std::uint64_t step) const;

 private:
  ScheduleOptions options_;
  double base_;
  double steps_per_epoch_;
  double warmup_steps_;
  double steps_;
};

}  // namespace lockstep
