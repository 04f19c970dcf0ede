#pragma once

#include <array>
#include <cstdint>

#include "train/loop/run_parts.h"
#include "train/loop/step_policy.h"

namespace lockstep {

/// Compares the parameters of all ranks every check_replicas_every steps, except at the end of an epoch,
/// where all values are compared anyway.
class ReplicaChecks : public StepPolicy {
 public:
  explicit ReplicaChecks(const RunParts& parts) : parts_(parts) {}

  std::uint64_t steps_until_due(std::uint64_t step) const override {
    return steps_to_multiple(parts_.run.options.check_replicas_every, step);
  }
  Next act(Boundary boundary) override;

  /// Throws Error(internal) on all ranks unless their parameters have the same bits. Averages are not
  /// compared, as ranks gather them for evaluations only. Collective.
  void check_parameters() const;
  /// Same for parameters and gathered averages. Collective.
  void check_all() const;

 private:
  /// Throws Error(internal) on all ranks unless they have the same hash. The error names the ranks that
  /// differ from the majority of the copies. Collective.
  void compare(const std::array<std::uint64_t, 2>& hash) const;

  const RunParts& parts_;
};

}  // namespace lockstep
