#pragma once

#include <cstdint>
#include <limits>

namespace lockstep {

/// Step boundary: the outcomes of all submitted steps are known.
enum class Boundary {
  within_epoch,
  before_evaluation,  ///< after the last step of an epoch
  end_of_epoch,       ///< after the evaluation of the epoch
  end_of_run,         ///< after the last evaluation
};
inline bool follows_steps(Boundary boundary) {
  return boundary == Boundary::within_epoch || boundary == Boundary::before_evaluation;
}

/// Next action of a run after a step boundary.
enum class Next {
  step,        ///< makes the next step
  other_step,  ///< a checkpoint was restored: makes the step after it
  stop,        ///< ends
};

/// Part of a run that acts at some of its step boundaries. All ranks make the same calls.
class StepPolicy {
 public:
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  virtual ~StepPolicy() = default;
  /// Number of steps that may be made after step `step` before act() must be called; the same on all ranks.
  virtual std::uint64_t steps_until_due(std::uint64_t /*step*/) const { return never; }
  /// Acts, if there is anything to do at this boundary. Collective.
  virtual Next act(Boundary boundary) = 0;
};

/// Number of steps from step `step` to the next multiple of `every`; `never` if `every` is 0.
inline std::uint64_t steps_to_multiple(std::uint64_t every, std::uint64_t step) {
  return every == 0 ? StepPolicy::never : every - step % every;
}

}  // namespace lockstep
