#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "train/step/leaf_pass.h"
#include "train/step/step_gradients.h"
#include "train/step/step_table.h"
#include "train/step/updater.h"

namespace lockstep {

/// Program of one kind of step, recorded once: forward and backward passes of all leaves, the sum of their
/// gradients, the update.
class StepProgram {
 public:
  /// `rounds`: number of parts between which a step can be abandoned; the same on all ranks. The loader of
  /// the runners must be set to a step of this kind. References must outlive the program.
  StepProgram(const Session& session, LeafPass pass, StepGradients gradients, Updater& updater,
              const StepTable& table, std::uint64_t rounds);

  /// Runs the current step of the loader and the table. Writes the outcome to the table, which advances to
  /// the next step. Calls `should_continue`, if it is not empty, between rounds; once it returns false,
  /// abandons the step without any change and returns false. Collective.
  bool run(const std::function<bool()>& should_continue);
  /// Seconds of the last run on a stream; see Program::phases.
  std::optional<PhaseSeconds> phases(std::size_t stream) const;
  const Assignment& assignment() const { return pass_.assignment(); }
  std::uint64_t rounds() const { return programs_.size(); }

 private:
  const Session& session_;
  LeafPass pass_;
  StepGradients gradients_;
  std::vector<std::unique_ptr<Program>> programs_;  ///< one for each round
};

}  // namespace lockstep
