#pragma once

#include "comm/world/watch_of.h"
#include "lockstep/reports.h"
#include "train/checkpoints/checkpointer.h"
#include "train/loop/run_position.h"
#include "train/session/session.h"
#include "train/step/training_steps.h"
#include "train/training_state.h"

namespace lockstep {

/// Parts of a run that its loop and the policies of the loop share; the parts must outlive both.
struct RunParts {
  const Session& session;
  const Run& run;
  TrainingSteps& steps;
  TrainingState& state;
  const RunHooks& hooks;
  Checkpointer* checkpointer = nullptr;  ///< null: no checkpoints

  RunPosition position() const { return {run, state.progress}; }
  /// Passes an event to the observer, in Stage::report: the watchdog then allows for slow files.
  void report(const RunEvent& event) const {
    if (!hooks.on_event) return;
    const InStage in(watch_of(session.world()), Stage::report);
    hooks.on_event(event);
  }
};

}  // namespace lockstep
