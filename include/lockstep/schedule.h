#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// How the learning rate goes over a run. Numbers of epochs may be fractions; decays happen at whole epochs.
/// A rule that has no use for an option of other rules refuses another value than the default.
struct ScheduleOptions {
  std::string name = "constant";  ///< see schedule_names()
  double warmup_epochs = 0.0;     ///< a linear rise before; of onecycle: its rise, 0 for 30 % of the run
  double min_lr = 0.0;            ///< what all but constant fall towards; at most the largest rate
  double decay_epochs = 30.0;     ///< step: epochs between two decays, at least 0.001
  double decay_rate = 0.1;        ///< step, multistep: factor of one decay
  std::vector<double> decay_milestones = {};  ///< multistep: epochs of the decays, ascending
  std::uint32_t power = 1;                    ///< polynomial: its degree

  bool operator==(const ScheduleOptions&) const = default;
};

/// The learning rate of every step: a pure function of the step, so there is nothing to save or to keep equal
/// between ranks. Computed from additions, multiplications and divisions only: the same bits everywhere.
class LearningRate {
 public:
  /// `base` is the largest rate. Throws Error(usage) for an unknown name or impossible options.
  LearningRate(const ScheduleOptions& options, double base, std::uint64_t steps_per_epoch, int epochs);

  /// Rate of step `step`, from 1. Steps beyond the last epoch have its last rate.
  float at(std::uint64_t step) const;

 private:
  ScheduleOptions options_;
  double base_;
  double steps_per_epoch_;
  double warmup_steps_;
  double steps_;
};

std::vector<std::string> schedule_names();

}  // namespace lockstep
