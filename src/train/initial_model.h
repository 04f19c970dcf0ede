#pragma once

#include <string>
#include <vector>

#include "lockstep/model_description.h"

namespace lockstep {

/// Differences between a run and the model that it starts from.
struct InitialModel {
  /// Whether the model was trained for other classes, or another task, than the run.
  bool other_outputs = false;
  std::vector<std::string> warnings = {};  ///< lines for the user
};

/// Compares the description of the model in `file` with that of the models of a run. What one of them does
/// not say, and all of a model that lockstep has not trained, is taken to be equal. `reset_head`: whether the
/// last layer is reinitialised for other outputs. Warns of a column, or a number to predict, whose mean or
/// deviation differs noticeably. Throws Error(data) for tables whose columns, or their texts, differ: the
/// first layer would take one for another; and for a network of another name that lacks a parameter of the
/// model or, for samples of the same shape, has one of another shape before the last layer.
InitialModel compare_initial_model(const std::string& file, const ModelDescription& model,
                                   const ModelDescription& run, bool reset_head);

}  // namespace lockstep
