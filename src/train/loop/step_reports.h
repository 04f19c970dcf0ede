#pragma once

#include "train/loop/epoch_in_progress.h"
#include "train/loop/run_parts.h"
#include "train/loop/step_policy.h"

namespace lockstep {

/// Reports each step, and the digest of the parameters after every digest_interval-th step.
class StepReports : public StepPolicy {
 public:
  StepReports(const RunParts& parts, const EpochInProgress& epoch) : parts_(parts), epoch_(epoch) {}

  std::uint64_t steps_until_due(std::uint64_t step) const override {
    return steps_to_multiple(parts_.run.options.digest_interval, step);
  }
  Next act(Boundary boundary) override;

 private:
  void report_steps() const;
  void report_digest() const;

  const RunParts& parts_;
  const EpochInProgress& epoch_;
};

}  // namespace lockstep
