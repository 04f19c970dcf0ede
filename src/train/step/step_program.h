#pragma once

#include <memory>
#include <optional>

#include "train/step/leaf_pass.h"
#include "train/step/step_gradients.h"
#include "train/step/step_table.h"
#include "train/step/updater.h"

namespace lockstep {

/// One kind of step, recorded once: all leaves forward and backward, the sum of their gradients, the update.
class StepProgram {
 public:
  /// While it is recorded, the runners' loader is set to a step of this kind. What it is given by reference
  /// outlives it.
  StepProgram(const Session& session, LeafPass pass, StepGradients gradients, Updater& updater,
              const StepTable& table);

  /// Runs the step that the loader and the table are at; its outcome goes to the table, which goes on to the
  /// next. Collective.
  void run() { program_->run(); }
  /// Seconds of the last run on a stream; see Program::phases.
  std::optional<PhaseSeconds> phases(std::size_t stream) const { return program_->phases(stream); }

 private:
  LeafPass pass_;
  StepGradients gradients_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
