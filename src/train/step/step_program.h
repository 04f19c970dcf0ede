#pragma once

#include <memory>
#include <optional>

#include "train/step/leaf_pass.h"
#include "train/step/step_gradients.h"
#include "train/step/step_table.h"
#include "train/step/updater.h"

namespace lockstep {

/// Program of one kind of step, recorded once: forward and backward passes of all leaves, the sum of their
/// gradients, the update.
class StepProgram {
 public:
  /// The loader of the runners must be set to a step of this kind. References outlive the program.
  StepProgram(const Session& session, LeafPass pass, StepGradients gradients, Updater& updater,
              const StepTable& table);

  /// Runs the current step of the loader and the table. Writes the outcome to the table, which moves on to
  /// the next step. Collective.
  void run() { program_->run(); }
  /// Seconds of the last run on a stream; see Program::phases.
  std::optional<PhaseSeconds> phases(std::size_t stream) const { return program_->phases(stream); }

 private:
  LeafPass pass_;
  StepGradients gradients_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
