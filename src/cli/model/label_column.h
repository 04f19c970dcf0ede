#pragma once

#include <string>

#include "lockstep/dataset.h"

namespace lockstep {

/// Column of a table's labels: "labels: column 'kind'", with advice if it is the last one, as no option names
/// it. `dataset`: a table.
std::string label_column_text(const Dataset& dataset, const DatasetOptions& options);
/// Whether the labels of a table are in the last column only because no option names another.
bool has_default_label_column(const Dataset& dataset, const DatasetOptions& options);

}  // namespace lockstep
