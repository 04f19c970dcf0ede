#pragma once

#include <string>
#include <vector>

#include "lockstep/model_description.h"

namespace lockstep {

/// Differences between a run and the model that it starts from.
struct InitialModel {
  /// Whether the model was trained for different classes or a different task.
  bool other_outputs = false;
  std::vector<std::string> warnings = {};  ///< lines for the user
};

/// Compares the description of the model in `file` with the description of a run's models. Entries that one
/// of them lacks count as equal, and so do all entries of a model that lockstep has not trained.
/// `reset_head`: whether the last layer is reinitialised for other outputs. Warns about a column or a number
/// to predict whose mean or deviation differs noticeably. Throws Error(data) for tables whose columns, or the
/// texts in them, differ, as the first layer would confuse them; and for a network of another name that lacks
/// a parameter of the model or, for samples of the same shape, has a parameter of another shape before the
/// last layer.
InitialModel compare_initial_model(const std::string& file, const ModelDescription& model,
                                   const ModelDescription& run, bool reset_head);

}  // namespace lockstep
