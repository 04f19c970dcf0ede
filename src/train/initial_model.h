#pragma once

#include <string>
#include <vector>

#include "lockstep/model_description.h"

namespace lockstep {

/// What a run has to know about the model whose parameters it begins with.
struct InitialModel {
  /// Whether its outputs are other classes, or numbers of another kind, than those of the run.
  bool other_outputs = false;
  std::vector<std::string> warnings = {};  ///< lines for the user
};

/// Compares the description of the model in `file` with that of the models of a run. What one of them does
/// not say is taken to be equal. `reset_head`: whether the last layer is reinitialised for other outputs.
/// Throws Error(data) for tables whose columns, or their texts, differ: the first layer would take one for
/// another.
InitialModel compare_initial_model(const std::string& file, const ModelDescription& model,
                                   const ModelDescription& run, bool reset_head);

}  // namespace lockstep
